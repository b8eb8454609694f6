// The static token, the one password user, and who may pass.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'
import { join } from 'node:path'
import { stateDir } from './state.js'

const tokenFile = join(stateDir, '.token')
const userFile = join(stateDir, '.credentials.json')

export const disabled = ['1', 'true'].includes(process.env.AUTH_DISABLED ?? '')

// loadToken: AUTH_TOKEN, else the file, made at the first start: 64 hex digits and a newline, 0600.
export function loadToken() {
  if (disabled) return null
  if (process.env.AUTH_TOKEN) return process.env.AUTH_TOKEN
  mkdirSync(stateDir, { recursive: true })
  const old = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8').trim() : ''
  if (old) return old
  const token = randomBytes(32).toString('hex')
  writeFileSync(tokenFile, token + '\n', { mode: 0o600 })
  chmodSync(tokenFile, 0o600)
  return token
}

// allowed judges `Authorization: Bearer TOKEN` and `?token=TOKEN`.
export function allowed(token, headers, query) {
  if (token === null) return true
  const bearer = /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1]
  return same(bearer ?? query.get('token') ?? '', token)
}

function same(a, b) {
  const [x, y] = [Buffer.from(a), Buffer.from(b)]
  return x.length === y.length && timingSafeEqual(x, y)
}

export function user() {
  return existsSync(userFile) ? JSON.parse(readFileSync(userFile, 'utf8')) : null
}

export function setUser(username, password) {
  const salt = randomBytes(16).toString('hex')
  const hash = scryptSync(password, salt, 32).toString('hex')
  writeFileSync(userFile, JSON.stringify({ username, salt, hash }), { mode: 0o600 })
}

export function removeUser() {
  rmSync(userFile, { force: true })
}

export function rightPassword(username, password) {
  const known = user()
  return known !== null && known.username === username && same(scryptSync(password, known.salt, 32).toString('hex'), known.hash)
}
