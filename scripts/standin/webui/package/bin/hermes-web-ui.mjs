#!/usr/bin/env node
// Command line of the stand-in: start, stop, restart, status, version, help. The real one's texts and exit codes.
import { spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'

const dir = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const { version } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'))
const server = join(dir, 'dist', 'server', 'index.js')
const state = join(homedir(), '.hermes-web-ui')
const pidFile = join(state, 'server.pid')
const logFile = join(state, 'server.log')
const say = (text) => console.log(`  ${text}`)

// port: an argument or 8648; the environment's PORT is not asked.
function port(args) {
  const flag = args.indexOf('--port')
  const given = flag >= 0 ? args[flag + 1] : args.find((arg) => /^\d+$/.test(arg))
  return Number(given) || 8648
}

function runningPid() {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'))
    process.kill(pid, 0)
    return pid
  } catch {
    return null
  }
}

async function start(args) {
  const old = runningPid()
  if (old) {
    say(`✗ hermes-web-ui is already running (PID: ${old})`)
    say('  Use "hermes-web-ui stop" to stop it first')
    return 1
  }
  mkdirSync(state, { recursive: true })
  const out = openSync(logFile, 'a', 0o600)
  const child = spawn(process.execPath, [server], {
    detached: true, stdio: ['ignore', out, out], env: { ...process.env, PORT: String(port(args)) },
  })
  child.unref()
  writeFileSync(pidFile, String(child.pid))
  say(`⏳ Starting hermes-web-ui (PID: ${child.pid}, port: ${port(args)})...`)
  return waitFor(child, port(args))
}

async function waitFor(child, number) {
  for (let tries = 0; tries < 60; tries++) {
    await sleep(500)
    if (child.exitCode !== null) {
      say('✗ Failed to start hermes-web-ui')
      say(`  Check log: ${logFile}`)
      rmSync(pidFile, { force: true })
      return 1
    }
    const answer = await fetch(`http://127.0.0.1:${number}/health`).catch(() => null)
    if (answer?.ok) {
      say('✓ hermes-web-ui started')
      say(`  http://localhost:${number}${suffix()}`)
      say(`  Log: ${logFile}`)
      return 0
    }
  }
  say('⚠ Server process is running but health check failed after 30s')
  return 0
}

function suffix() {
  if (['1', 'true'].includes(process.env.AUTH_DISABLED ?? '')) return ''
  return `/#/?token=${process.env.AUTH_TOKEN || readFileSync(join(state, '.token'), 'utf8').trim()}`
}

async function stop() {
  const pid = runningPid()
  if (!pid) {
    rmSync(pidFile, { force: true })
    say('✗ hermes-web-ui is not running')
    return 1
  }
  process.kill(pid, 'SIGTERM')
  for (let tries = 0; tries < 10 && runningPid(); tries++) await sleep(500)
  if (runningPid()) process.kill(pid, 'SIGKILL')
  rmSync(pidFile, { force: true })
  say(`✓ hermes-web-ui stopped (PID: ${pid})`)
  return 0
}

function status() {
  const pid = runningPid()
  say(pid ? `✓ hermes-web-ui is running (PID: ${pid})` : '✗ hermes-web-ui is not running')
  return 0
}

function help() {
  console.log(`
hermes-web-ui v${version} (stand-in)

Usage: hermes-web-ui <command> [options]

Commands:
  start [port]       Start the server (default port: 8648)
  stop               Stop the server
  restart [port]     Restart the server
  status             Show server status
  version            Show version number

Options:
  --port <port>      Specify port (used with start/restart)
  --no-open          Accepted; this one never opens a browser
`)
  return 0
}

function foreground(number) {
  const child = spawn(process.execPath, [server], { stdio: 'inherit', env: { ...process.env, PORT: String(number) } })
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal))
  return new Promise((done) => child.on('exit', (code) => done(code ?? 1)))
}

const [command = 'start', ...args] = process.argv.slice(2)
const commands = {
  start: () => start(args),
  stop,
  status,
  restart: async () => { await stop(); return start(args) },
  version: () => { console.log(`hermes-web-ui v${version}`); return 0 },
  help,
}
Object.assign(commands, { '-v': commands.version, '--version': commands.version, '-h': help, '--help': help })
if (!Object.hasOwn(commands, command) && !/^\d+$/.test(command)) {
  console.error(`hermes-web-ui (stand-in): unknown command ${command}; see hermes-web-ui --help`)
  process.exit(2)
}
process.exit(await (commands[command] ?? (() => foreground(Number(command))))())
