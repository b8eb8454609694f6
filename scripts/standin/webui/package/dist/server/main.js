// The order of the real one: data directory, token, gateway, and only then the listener.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { loadToken } from './auth.js'
import { ensure } from './gateway.js'
import { serve } from './http.js'
import { log, packageDir, stateDir } from './state.js'

export async function main() {
  // Whatever else goes wrong from here on, the real one stays alive without a listener.
  const alive = setInterval(() => {}, 1 << 30)
  const end = () => process.exit(0)
  process.on('SIGTERM', end)
  process.on('SIGINT', end)
  try {
    mkdirSync(stateDir, { recursive: true })
    mkdirSync(join(packageDir, 'dist', 'data'), { recursive: true })
    const token = loadToken()
    announce(token)
    await ensure()
    await listen(serve(token), Number(process.env.PORT || 8648), process.env.BIND_HOST || '0.0.0.0')
    clearInterval(alive)
  } catch (err) {
    log(`fatal: ${err.stack}`)
    if (err.syscall?.startsWith('spawn')) {
      console.error(`Failed to start: ${err.message}`)
      process.exit(1)
    }
  }
}

// announce prints the token, as the real one does: whoever starts it must keep its output private.
function announce(token) {
  const line = token === null ? 'Auth disabled' : `Auth enabled — token: ${token}`
  console.log('hermes-web-ui 0.5.16 (stand-in)')
  console.log(line)
  log(line)
}

function listen(server, port, host) {
  console.log(`Server: http://localhost:${port}`)
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
}
