// The Hermes gateway of the default profile: found again, or started as `hermes gateway run --replace`.
import { spawn, execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { gatewayHome, gatewayWait, hermesBin, log } from './state.js'
import { readAddress, writeAddress } from './config.js'

const url = ({ host, port }) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`

export function upstream() {
  return url(readAddress(gatewayHome))
}

// status probes the gateway: its process and its /health.
export async function status() {
  const address = readAddress(gatewayHome)
  const pid = readPid()
  const running = pid !== null && alive(pid) && await healthy(url(address), 3000)
  return { profile: 'default', ...address, url: url(address), running, ...(running ? { pid } : {}) }
}

// ensure starts a gateway unless one lives. One that does not get ready is logged, not fatal; a hermes that cannot be
// run is, and so is a host without a free port.
export async function ensure() {
  if ((await status()).running) return
  const address = await reserve()
  const child = await launch()
  log(`gateway started, process ${child.pid}, port ${address.port}`)
  if (!await ready(child, url(address))) log(`gateway is not ready on ${url(address)}`)
}

// reserve takes the port of config.yaml or the next free one, twice, as the real one does: so each start that
// starts a gateway writes a port one higher.
async function reserve() {
  const taken = new Set()
  for (let round = 0; round < 2; round++) {
    const { host, port } = readAddress(gatewayHome)
    const next = await freePort(host, port, taken)
    writeAddress(gatewayHome, host, next)
    taken.add(next)
  }
  return readAddress(gatewayHome)
}

async function freePort(host, base, taken) {
  for (let port = base; port <= 65535; port++) {
    const code = taken.has(port) ? 'EADDRINUSE' : await tryListen(host, port)
    if (!code) return port
    if (code !== 'EADDRINUSE' && code !== 'EACCES') break // the host itself is wrong: every port would fail alike
  }
  throw new Error(`No free port found in range ${base}-65535`)
}

function tryListen(host, port) {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (err) => resolve(err.code))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })
}

function launch() {
  mkdirSync(gatewayHome, { recursive: true })
  return new Promise((resolve, reject) => {
    const child = spawn(hermesBin, ['gateway', 'run', '--replace'], {
      detached: true, stdio: 'ignore', env: { ...process.env, HERMES_HOME: gatewayHome },
    })
    child.once('error', reject)
    child.once('spawn', () => resolve(child))
    child.unref()
  })
}

async function ready(child, address) {
  for (const end = Date.now() + gatewayWait; Date.now() < end;) {
    if (child.exitCode !== null || child.signalCode !== null) return false
    if (await healthy(address, 2000)) return true
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return false
}

async function healthy(address, ms) {
  try {
    return (await fetch(`${address}/health`, { signal: AbortSignal.timeout(ms) })).ok
  } catch {
    return false
  }
}

function readPid() {
  const file = join(gatewayHome, 'gateway.pid')
  try {
    return existsSync(file) ? Number(JSON.parse(readFileSync(file, 'utf8')).pid) || null : null
  } catch {
    return null
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

// hermesVersion is what `hermes --version` says behind its name, or "".
export function hermesVersion() {
  return new Promise((resolve) => {
    execFile(hermesBin, ['--version'], { timeout: 5000 }, (err, stdout) => {
      resolve(err ? '' : stdout.split('\n')[0].replace(/^Hermes Agent\s*/, '').trim())
    })
  })
}
