// The HTTP server: CORS, credentials, routes, and the one page for everything else.
import { createServer } from 'node:http'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { allowed } from './auth.js'
import { FileError } from './files.js'
import { proxy } from './proxy.js'
import { closed, open, refusal } from './routes.js'
import { log, packageDir } from './state.js'

const page = join(packageDir, 'dist', 'client', 'index.html')
const mostBody = 32 * 1024 * 1024
const guarded = (path) => /^\/(api|v1|upload)(\/|$)/.test(path)

export function serve(token) {
  const server = createServer((req, res) => {
    handle(req, res, token).catch((err) => {
      log(`${req.method} ${req.url.split('?')[0]}: ${err.stack}`)
      if (!res.headersSent) send(res, 500, { error: err.message })
      else res.destroy()
    })
  })
  // The only WebSocket is the terminal's; there is no shell behind it here, so its socket is cut.
  server.on('upgrade', (req, socket) => {
    const { query } = target(req)
    if (allowed(token, req.headers, query)) socket.destroy()
    else socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
  })
  return server
}

function target(req) {
  const url = new URL(req.url, 'http://localhost')
  return { path: url.pathname, query: url.searchParams }
}

async function handle(req, res, token) {
  res.setHeader('Vary', 'Origin')
  res.setHeader('Access-Control-Allow-Origin', process.env.CORS_ORIGINS || '*')
  if (req.method === 'OPTIONS') return preflight(req, res)
  const { path, query } = target(req)
  const context = { req, query, token, ip: (req.socket.remoteAddress ?? '').replace(/^::ffff:/, ''), body: await bodyOf(req) }
  const name = `${req.method === 'HEAD' ? 'GET' : req.method} ${path}`
  if (Object.hasOwn(open, name)) return send(res, ...await open[name](context))
  if (!guarded(path)) return sendPage(req, res)
  if (!allowed(token, req.headers, query)) return send(res, ...refusal(context.ip))
  if (path.startsWith('/v1/')) return proxy(req, res, context.body, (status, body) => send(res, status, body))
  if (!Object.hasOwn(closed, name)) return sendText(res, 404, 'Not Found')
  return answer(res, closed[name], context)
}

async function answer(res, handler, context) {
  try {
    send(res, ...await handler(context))
  } catch (err) {
    if (!(err instanceof FileError)) throw err
    send(res, err.status, err.body)
  }
}

function preflight(req, res) {
  res.setHeader('Access-Control-Allow-Methods', 'GET,HEAD,PUT,POST,DELETE,PATCH')
  if (req.headers['access-control-request-headers']) {
    res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'])
  }
  res.writeHead(204).end()
}

async function bodyOf(req) {
  const chunks = []
  let size = 0
  for await (const chunk of req) {
    size += chunk.length
    if (size > mostBody) throw new Error('request body too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function send(res, status, body) {
  sendText(res, status, JSON.stringify(body), 'application/json; charset=utf-8')
}

function sendText(res, status, text, type = 'text/plain; charset=utf-8') {
  res.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(text) }).end(text)
}

function sendPage(req, res) {
  if (req.method !== 'GET' && req.method !== 'HEAD') return sendText(res, 404, 'Not Found')
  const html = readFileSync(page)
  res.writeHead(200, {
    'Content-Length': html.length, 'Last-Modified': statSync(page).mtime.toUTCString(),
    'Cache-Control': 'max-age=0', 'Content-Type': 'text/html; charset=utf-8',
  }).end(req.method === 'HEAD' ? undefined : html)
}
