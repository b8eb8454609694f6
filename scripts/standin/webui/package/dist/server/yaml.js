// The plain YAML that Hermes writes: block and flow collections, scalars, comments, block texts. What is beyond it
// (anchors, tags, several documents, multi-line plain scalars) is an error, so that no file is rewritten half understood.

export class YamlError extends Error {}

// parse returns plain objects, arrays, strings, numbers, booleans and null; {} for an empty text.
export function parse(text) {
  const lines = text.split(/\r?\n/).map((raw, i) => ({ raw, number: i + 1, indent: raw.search(/[^ ]/), text: '' }))
  const reader = { lines, at: 0 }
  skip(reader)
  if (reader.lines[reader.at]?.raw.trim() === '---') reader.at++
  const value = block(reader, 0) ?? {}
  skip(reader)
  if (reader.at < lines.length) throw fault(lines[reader.at], 'unexpected content')
  return value
}

const fault = (line, what) => new YamlError(`line ${line.number}: ${what}`)

function skip(reader) {
  while (reader.at < reader.lines.length && /^\s*(#.*)?$/.test(reader.lines[reader.at].raw)) reader.at++
}

function block(reader, least) {
  skip(reader)
  const line = reader.lines[reader.at]
  if (!line || line.indent < least) return null
  if (line.raw.includes('\t') && /^ *\t/.test(line.raw)) throw fault(line, 'tab in the indentation')
  if (/^-( |$)/.test(line.raw.slice(line.indent))) return sequence(reader, line.indent)
  return mapping(reader, line.indent)
}

function sequence(reader, indent) {
  const items = []
  for (;;) {
    skip(reader)
    const line = reader.lines[reader.at]
    if (!line || line.indent !== indent || !/^-( |$)/.test(line.raw.slice(indent))) break
    const rest = line.raw.slice(indent + 1)
    if (/^\s*(#.*)?$/.test(rest)) {
      reader.at++
      items.push(block(reader, indent + 1))
    } else if (keyOf(rest.trimStart())) { // a mapping that begins on the dash's line
      line.raw = ' '.repeat(indent + 1) + rest
      line.indent = line.raw.search(/[^ ]/)
      items.push(mapping(reader, line.indent))
    } else {
      items.push(inline(reader, line, rest.trim(), indent))
    }
  }
  return items
}

function keyOf(text) {
  const match = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\[\]{},#&*!|>'"%@`:-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*)|)$/.exec(text)
  return match && [String(quoted(match[1]) ?? match[1]), match[2] ?? '']
}

function mapping(reader, indent) {
  const map = {}
  for (;;) {
    skip(reader)
    const line = reader.lines[reader.at]
    if (!line || line.indent < indent) break
    const pair = line.indent === indent && keyOf(line.raw.slice(indent))
    if (!pair) throw fault(line, 'neither a key nor the end of a mapping')
    const [key, rest] = pair
    if (Object.hasOwn(map, key)) throw fault(line, `the key ${key} is there twice`)
    Object.defineProperty(map, key, { value: valueOf(reader, line, rest, indent), enumerable: true, writable: true, configurable: true })
  }
  return map
}

function valueOf(reader, line, rest, indent) {
  if (!/^\s*(#.*)?$/.test(rest)) return inline(reader, line, rest.trim(), indent)
  reader.at++
  skip(reader)
  const next = reader.lines[reader.at]
  if (next && next.indent === indent && /^-( |$)/.test(next.raw.slice(indent))) return sequence(reader, indent)
  return block(reader, indent + 1)
}

function inline(reader, line, text, indent) {
  reader.at++
  const style = /^([|>])([+-]?)\s*(#.*)?$/.exec(text)
  if (style) return blockText(reader, indent, style[1], style[2])
  if (/^[&*!|>%@`]/.test(text)) throw fault(line, 'an anchor, a tag or another form that is not read here')
  const [value, end] = flow(text, 0, line)
  if (!/^\s*(#.*)?$/.test(text.slice(end))) throw fault(line, 'unexpected text after a value')
  const next = reader.lines[reader.at]
  if (next && next.indent > indent && /\S/.test(next.raw) && !next.raw.trim().startsWith('#')) {
    throw fault(next, 'a value over several lines')
  }
  return value
}

function blockText(reader, indent, style, chomp) {
  const taken = []
  while (reader.at < reader.lines.length && (reader.lines[reader.at].indent > indent || !reader.lines[reader.at].raw.trim())) {
    taken.push(reader.lines[reader.at++].raw)
  }
  const depth = Math.min(...taken.filter((raw) => raw.trim()).map((raw) => raw.search(/[^ ]/)))
  const body = taken.map((raw) => raw.slice(depth)).join('\n').replace(/\n*$/, '')
  const text = style === '|' ? body : body.replace(/([^\n])\n(?=[^\n ])/g, '$1 ')
  return chomp === '-' ? text : text + '\n'
}

// flow reads one value at an offset and returns it with the offset behind it.
function flow(text, at, line, closers = '') {
  if (text[at] === '[') return flowList(text, at + 1, line)
  if (text[at] === '{') return flowMap(text, at + 1, line)
  const quote = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(text.slice(at))
  if (quote) return [quoted(quote[0]), at + quote[0].length]
  if (/["']/.test(text[at] ?? '')) throw fault(line, 'a quote that does not end on its line')
  const plain = closers ? /^[^,\[\]{}#]*?(?=\s*(?:[,\]}]|: |$))/.exec(text.slice(at)) : /^.*?(?=\s+#|\s*$)/.exec(text.slice(at))
  if (!plain) throw fault(line, 'a value that cannot be read')
  if (!closers && /: |:$/.test(plain[0])) throw fault(line, 'mapping values are not allowed in this context')
  return [scalar(plain[0].trim()), at + plain[0].length]
}

const blanks = (text, at) => at + /^\s*/.exec(text.slice(at))[0].length

function flowList(text, at, line) {
  const list = []
  for (;;) {
    at = blanks(text, at)
    if (text[at] === ']') return [list, at + 1]
    let value
    ;[value, at] = flow(text, at, line, ',]')
    list.push(value)
    at = blanks(text, at)
    if (text[at] === ',') at++
    else if (text[at] !== ']') throw fault(line, 'a list that does not end on its line')
  }
}

function flowMap(text, at, line) {
  const map = {}
  for (;;) {
    at = blanks(text, at)
    if (text[at] === '}') return [map, at + 1]
    let key, value
    ;[key, at] = flow(text, at, line, ',}')
    at = blanks(text, at)
    if (text[at] !== ':') throw fault(line, 'a mapping that does not end on its line')
    ;[value, at] = flow(text, blanks(text, at + 1), line, ',}')
    map[key] = value
    at = blanks(text, at)
    if (text[at] === ',') at++
    else if (text[at] !== '}') throw fault(line, 'a mapping that does not end on its line')
  }
}

const escapes = { n: '\n', t: '\t', r: '\r', '0': '\0', '"': '"', '\\': '\\', '/': '/', e: '\x1b', ' ': ' ' }

function quoted(text) {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'")
  if (!text.startsWith('"')) return undefined
  return text.slice(1, -1).replace(/\\(?:x(..)|u(....)|U(.{8})|(.))/g, (all, x, u, U, c) => {
    if (c === undefined) return String.fromCodePoint(parseInt(x ?? u ?? U, 16))
    if (!(c in escapes)) throw new YamlError(`unknown escape \\${c}`)
    return escapes[c]
  })
}

function scalar(text) {
  if (/^(~|null|Null|NULL|)$/.test(text)) return null
  if (/^(true|True|TRUE)$/.test(text)) return true
  if (/^(false|False|FALSE)$/.test(text)) return false
  if (/^[-+]?(0|[1-9][0-9]*)$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  if (/^[-+]?[0-9]+\.[0-9]*$/.test(text)) return Number(text)
  return text
}

// dump writes what parse reads, two blanks a level, every doubtful string quoted.
export function dump(value, depth = 0) {
  const pad = '  '.repeat(depth)
  if (Array.isArray(value)) return value.map((item) => `${pad}-${nested(item, depth)}`).join('')
  return Object.entries(value).map(([key, item]) => `${pad}${text(key)}:${nested(item, depth)}`).join('')
}

function nested(item, depth) {
  if (item === null || typeof item !== 'object') return ` ${text(item)}\n`
  if (Object.keys(item).length === 0) return Array.isArray(item) ? ' []\n' : ' {}\n'
  return `\n${dump(item, depth + 1)}`
}

function text(value) {
  if (typeof value !== 'string') return String(value)
  const plain = /^[A-Za-z0-9_./][A-Za-z0-9_./@+-]*(?::\/\/[A-Za-z0-9_./:@+-]*)?$/.test(value) && typeof scalar(value) === 'string' &&
    !/^[-+.]?[0-9]/.test(value) && !/^(y|n|yes|no|on|off)$/i.test(value)
  return plain ? value : JSON.stringify(value)
}
