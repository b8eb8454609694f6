// config.yaml and .env of a home.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inContainer, log } from './state.js'
import { dump, parse } from './yaml.js'

export function readConfig(home) {
  const file = join(home, 'config.yaml')
  return existsSync(file) ? parse(readFileSync(file, 'utf8')) : {}
}

// readAddress: where the gateway's API server is. In a container the default host is another container's name.
export function readAddress(home) {
  const fallback = { host: inContainer ? 'hermes-agent' : '127.0.0.1', port: 8642 }
  try {
    const extra = readConfig(home)?.platforms?.api_server?.extra ?? {}
    const port = parseInt(extra.port, 10)
    return { host: extra.host || fallback.host, port: port > 0 && port <= 65535 ? port : fallback.port }
  } catch {
    return fallback
  }
}

// writeAddress rewrites config.yaml, made if absent; comments are lost.
export function writeAddress(home, host, port) {
  const file = join(home, 'config.yaml')
  try {
    const config = readConfig(home)
    const platforms = (config.platforms ??= {})
    const server = (platforms.api_server ??= {})
    server.extra ??= {}
    Object.assign(server, { enabled: true, key: '', cors_origins: '*' })
    Object.assign(server.extra, { port, host })
    delete server.port
    delete server.host
    writeFileSync(file, dump(config))
  } catch (err) {
    log(`cannot write ${file}: ${err.message}`)
  }
}

// readKey: the gateway's key, from the .env file alone.
export function readKey(home) {
  const file = join(home, '.env')
  if (!existsSync(file)) return null
  return /^API_SERVER_KEY\s*=\s*"?([^"\n]+)"?/m.exec(readFileSync(file, 'utf8'))?.[1].trim() || null
}
