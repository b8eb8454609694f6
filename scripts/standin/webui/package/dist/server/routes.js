// Which path answers what. A handler gets {req, body, query, ip, token} and returns [status, JSON body].
import * as auth from './auth.js'
import * as files from './files.js'
import * as gateway from './gateway.js'
import * as limiter from './limiter.js'
import { readConfig } from './config.js'
import { listSkills } from './skills.js'
import { hermesHome, version } from './state.js'

const tooMany = [429, { error: 'Too many login attempts, please try again later' }]
const ok = (body) => [200, body]

// open are the routes that need no credential.
export const open = {
  'GET /health': async () => {
    const [{ running }, hermes] = await Promise.all([gateway.status(), gateway.hermesVersion()])
    return ok({
      status: running ? 'ok' : 'error', platform: 'hermes-agent', version: hermes, gateway: running ? 'running' : 'stopped',
      webui_version: version, webui_latest: '', webui_update_available: false, node_version: process.versions.node,
    })
  },
  'GET /api/auth/status': () => ok({ hasPasswordLogin: auth.user() !== null, username: auth.user()?.username ?? null }),
  'POST /api/auth/login': login,
}

export const closed = {
  'GET /api/auth/locked-ips': () => ok({ locks: limiter.locks() }),
  'DELETE /api/auth/locked-ips': ({ query }) => ok({ success: true, count: limiter.clear(query.get('ip')) }),
  'POST /api/auth/setup': setup,
  'DELETE /api/auth/password': () => { auth.removeUser(); return ok({ success: true }) },
  'GET /api/hermes/skills': () => ok(listSkills()),
  'GET /api/hermes/profiles': profiles,
  'GET /api/hermes/gateways': async () => ok({ gateways: [await gateway.status()] }),
  'GET /api/hermes/config': () => ok(readConfig(hermesHome)),
  'GET /api/hermes/config/models': () => ok({ default: model(), groups: [] }),
  'GET /api/hermes/available-models': () => ok({ default: model(), groups: [], allProviders: [] }),
  'GET /api/hermes/sessions': () => ok({ sessions: [] }),
  'GET /api/hermes/memory': () => ok(files.memory()),
  'GET /api/hermes/files/list': ({ query }) => ok(files.listFiles(query.get('path') ?? '')),
  'GET /api/hermes/files/read': ({ query }) => ok(files.readFile(query.get('path') ?? '')),
  'GET /api/hermes/workspace/folders': ({ query }) => ok(files.workspace(query.get('path') ?? '')),
  'GET /api/hermes/logs': () => ok(files.logs()),
}

const model = () => readConfig(hermesHome).model?.default ?? ''

async function profiles() {
  const { running } = await gateway.status()
  const one = { name: 'default', active: true, model: model() || '—', gateway: running ? 'running' : 'stopped', alias: '—            —' }
  return ok({ profiles: [one] })
}

function credentials(body) {
  try {
    const { username, password } = JSON.parse(body.toString('utf8'))
    return typeof username === 'string' && typeof password === 'string' && username && password ? { username, password } : null
  } catch {
    return null
  }
}

// login: a token lock of the address covers it too. It returns the static token, there are no sessions.
function login({ body, ip, token }) {
  if (limiter.locked('token', ip) || limiter.locked('password', ip)) return tooMany
  const given = credentials(body)
  if (!given) return [400, { error: 'Username and password are required' }]
  if (!auth.rightPassword(given.username, given.password)) {
    limiter.fail('password', ip)
    return [401, { error: 'Invalid username or password' }]
  }
  limiter.succeed('password', ip)
  return ok({ token })
}

function setup({ body }) {
  const given = credentials(body)
  if (!given) return [400, { error: 'Username and password are required' }]
  auth.setUser(given.username, given.password)
  return ok({ success: true })
}

// refusal of a request without the right credential: two more chances, then an hour's lock for failures.
export function refusal(ip) {
  if (limiter.locked('token', ip)) return tooMany
  limiter.fail('token', ip)
  return [401, { error: 'Unauthorized' }]
}
