// Files below a home, logs, memory and the workspace, read only.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { hermesHome, stateDir } from './state.js'

export class FileError extends Error {
  constructor(status, body) {
    super(body.error)
    Object.assign(this, { status, body })
  }
}

// inHome resolves a path below the home; anything else is refused before the disk is asked.
function inHome(path) {
  const full = resolve(hermesHome, path)
  const inside = relative(hermesHome, full)
  if (inside.split('/')[0] === '..' || path.includes('\0')) {
    throw new FileError(400, { error: 'Invalid file path', code: 'invalid_path' })
  }
  if (!existsSync(full)) throw new FileError(404, { error: 'File not found', code: 'not_found' })
  return full
}

export function listFiles(path) {
  const dir = inHome(path)
  const entries = readdirSync(dir).filter((name) => existsSync(join(dir, name))).map((name) => {
    const stat = statSync(join(dir, name))
    return { name, path: path ? `${path}/${name}` : name, isDir: stat.isDirectory(), size: stat.size, modTime: stat.mtime.toISOString() }
  })
  return { entries: entries.sort((a, b) => b.isDir - a.isDir || (a.name < b.name ? -1 : 1)) }
}

export function readFile(path) {
  const full = inHome(path)
  if (!statSync(full).isFile()) throw new FileError(400, { error: 'Not a file', code: 'not_a_file' })
  return { content: readFileSync(full, 'utf8'), path, size: statSync(full).size }
}

export function memory() {
  const text = (...parts) => existsSync(join(hermesHome, ...parts)) ? readFileSync(join(hermesHome, ...parts), 'utf8') : ''
  return { memory: text('memories', 'MEMORY.md'), user: text('memories', 'USER.md'), soul: text('SOUL.md') }
}

export function workspace(current) {
  const base = process.env.WORKSPACE_BASE || join(homedir(), 'workspace')
  const dir = resolve(base, current)
  if (relative(base, dir).split('/')[0] === '..' || !existsSync(dir)) throw new FileError(404, { error: 'Path not found', folders: [] })
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
  return { base, current, folders: folders.map(({ name }) => ({ name, path: join(current, name), fullPath: join(dir, name) })) }
}

export function logs() {
  const known = ['agent', 'errors', 'gateway'].map((name) => [name, join(hermesHome, 'logs', `${name}.log`)])
  const all = [...known, ['webui', join(stateDir, 'logs', 'server.log')]].filter(([, file]) => existsSync(file))
  return { files: all.map(([name, file]) => ({ name, size: kilobytes(statSync(file).size), modified: ago(statSync(file).mtime, name) })) }
}

const kilobytes = (bytes) => (bytes < 1024 ? `${bytes}B` : `${(bytes / 1024).toFixed(1)}KB`)

function ago(time, name) {
  if (name === 'webui') return time.toLocaleString('en-US')
  const minutes = Math.floor((Date.now() - time) / 60000)
  return minutes < 1 ? 'just now' : `${minutes}m ago`
}
