#!/usr/bin/env node
// A fake hermes for the tests of the stand-in: its version, and a gateway with the answers of the recorded one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const args = process.argv.slice(2).join(' ')
const home = process.env.HERMES_HOME
const read = (name) => (existsSync(join(home, name)) ? readFileSync(join(home, name), 'utf8') : '')

if (args === '--version') {
  console.log('Hermes Agent v0.19.0 (2026.7.20)\nInstall directory: /opt/hermes-agent')
} else if (args === 'gateway run --replace') {
  setTimeout(gateway, Number(process.env.FAKE_HERMES_DELAY_MS || 0))
} else {
  console.error(`fake hermes: unexpected arguments: ${args}`)
  process.exit(2)
}

function gateway() {
  const key = /^API_SERVER_KEY=(.{16,})$/m.exec(read('.env'))?.[1]
  writeFileSync(join(home, 'gateway.pid'), JSON.stringify({ pid: process.pid, kind: 'hermes-gateway' }))
  if (!key) return setInterval(() => {}, 1 << 30) // it lives, but opens no API
  const port = Number(/port: (\d+)/.exec(read('config.yaml'))[1])
  createServer((req, res) => answer(req, res, key)).listen(port, '127.0.0.1')
}

// json writes what Python's json module would.
const json = (value) => JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ').replace(/([[{]) | ([\]}])/g, '$1$2')

async function answer(req, res, key) {
  let body = ''
  for await (const chunk of req) body += chunk
  const send = (status, value) => {
    const text = json(value)
    res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(text) }).end(text)
  }
  if (req.url === '/health') return send(200, { status: 'ok', platform: 'hermes-agent', version: '0.19.0' })
  if (req.headers.authorization !== `Bearer ${key}`) return send(401, { error: { message: 'Invalid API key' } })
  if (req.url === '/v1/models') {
    const model = { id: 'hermes-agent', object: 'model', created: 1795955061, owned_by: 'hermes', permission: [], root: 'hermes-agent', parent: null }
    return send(200, { object: 'list', data: [model] })
  }
  if (req.url === '/v1/chat/completions') return complete(JSON.parse(body), res, send)
  send(404, { error: { message: 'not found' } })
}

function complete(request, res, send) {
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
  const head = { id: 'chatcmpl-fake', object: 'chat.completion', created: 1, model: 'hermes-agent' }
  if (!request.stream) {
    const message = { role: 'assistant', content: 'pong from stub' }
    return send(200, { ...head, choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
  }
  res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' })
  const deltas = [{ role: 'assistant' }, { content: 'pong ' }, { content: 'from ' }, { content: 'stub ' }]
  const chunk = (choice, more) => res.write(`data: ${json({ ...head, object: 'chat.completion.chunk', choices: [choice], ...more })}\n\n`)
  for (const delta of deltas) chunk({ index: 0, delta, finish_reason: null })
  chunk({ index: 0, delta: {}, finish_reason: 'stop' }, { usage })
  res.end('data: [DONE]\n\n')
}
