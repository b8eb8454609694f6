// Where things are: environment, homes, the state directory, the log.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const packageDir = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..')
export const version = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8')).version
export const stateDir = join(homedir(), '.hermes-web-ui')
export const hermesBin = process.env.HERMES_BIN?.trim() || 'hermes'

// The gateway and its key always belong to $HOME/.hermes, whatever HERMES_HOME says; the rest follows HERMES_HOME.
export const gatewayHome = join(homedir(), '.hermes')
export const hermesHome = process.env.HERMES_HOME?.trim() || gatewayHome

export const inContainer = existsSync(process.env.HERMES_WEB_UI_STANDIN_MARKER || '/.dockerenv')
export const gatewayWait = Number(process.env.HERMES_WEB_UI_STANDIN_WAIT_MS) || 15000

const logFile = join(stateDir, 'logs', 'server.log')

export function log(text) {
  mkdirSync(dirname(logFile), { recursive: true })
  appendFileSync(logFile, `${new Date().toISOString()} ${text}\n`)
}
