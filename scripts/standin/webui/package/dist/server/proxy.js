// /v1/* goes to the gateway with its key.
import { request } from 'node:http'
import { gatewayHome } from './state.js'
import { readKey } from './config.js'
import { upstream } from './gateway.js'

const passed = ['content-type', 'content-length', 'cache-control']

// proxy answers with what the gateway answers. The real one writes the JSON body anew but keeps the old
// Content-Length, so a body with blanks fails; that is kept.
export function proxy(req, res, body, send) {
  const fail = (text) => send(502, { error: { message: `Proxy error: ${text}` } })
  if (body.length > 0 && rewritten(body).length !== body.length) {
    fail('fetch failed')
    return Promise.resolve()
  }
  return new Promise((resolve) => {
    const out = request(upstream() + req.url, { method: req.method, headers: headersFor(req, body) }, (answer) => {
      for (const name of passed) {
        if (answer.headers[name]) res.setHeader(name, answer.headers[name])
      }
      res.writeHead(answer.statusCode)
      answer.pipe(res)
      answer.on('end', resolve)
      answer.on('error', () => { res.destroy(); resolve() })
    })
    out.on('error', () => { fail('fetch failed'); resolve() })
    res.on('close', () => out.destroy())
    out.end(body)
  })
}

function rewritten(body) {
  try {
    return Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8'))))
  } catch {
    return body
  }
}

function headersFor(req, body) {
  const headers = { accept: req.headers.accept ?? '*/*' }
  const key = readKey(gatewayHome)
  if (key) headers.authorization = `Bearer ${key}`
  if (req.headers['content-type']) headers['content-type'] = req.headers['content-type']
  if (body.length > 0) headers['content-length'] = body.length
  return headers
}
