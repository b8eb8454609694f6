// Three failures from an address lock it for an hour, separately for tokens and passwords. Kept in .login-lock.json.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stateDir } from './state.js'

const file = join(stateDir, '.login-lock.json')
const most = 3
const hour = 60 * 60 * 1000
const fields = { token: 'tokenIpMap', password: 'passwordIpMap' }

function load() {
  try {
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  } catch {
    return {}
  }
}

const state = { tokenIpMap: {}, passwordIpMap: {}, ...load() }

function save() {
  mkdirSync(stateDir, { recursive: true })
  writeFileSync(file, JSON.stringify(state, null, 2) + '\n', { mode: 0o600 })
}

export function locked(type, ip) {
  return (state[fields[type]][ip]?.lockedUntil ?? 0) > Date.now()
}

export function fail(type, ip) {
  const map = state[fields[type]]
  const old = map[ip]
  const entry = old && !(old.lockedUntil && old.lockedUntil <= Date.now()) ? old : { failures: 0, lockedUntil: 0 }
  entry.failures++
  if (entry.failures >= most) entry.lockedUntil = Date.now() + hour
  map[ip] = entry
  save()
}

export function succeed(type, ip) {
  if (delete state[fields[type]][ip]) save()
}

export function locks() {
  return Object.entries(fields).flatMap(([type, field]) =>
    Object.entries(state[field])
      .filter(([, entry]) => entry.lockedUntil > Date.now())
      .map(([ip, { failures, lockedUntil }]) => ({ ip, type, failures, lockedUntil })))
}

// clear removes the locks of one address, or all, and says how many there were.
export function clear(ip) {
  const count = locks().filter((lock) => !ip || lock.ip === ip).length
  for (const field of Object.values(fields)) {
    for (const key of Object.keys(state[field])) {
      if (!ip || key === ip) delete state[field][key]
    }
  }
  save()
  return count
}
