// The skills of a home as the real 0.5.16 lists them: real directories only, so neither linked nor external skills.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hermesHome } from './state.js'
import { readConfig } from './config.js'

const misc = { name: 'misc', description: '雜項' }

export function listSkills() {
  const root = join(hermesHome, 'skills')
  const disabled = new Set(readConfig(hermesHome).skills?.disabled ?? [])
  const builtin = bundled(root)
  const one = (dir, name) => ({
    name,
    description: firstBodyLine(join(dir, 'SKILL.md')),
    enabled: !disabled.has(name),
    source: builtin.has(name) ? 'builtin' : 'local',
  })
  const flat = directories(root).filter((name) => existsSync(join(root, name, 'SKILL.md')))
  const categories = directories(root).filter((name) => !flat.includes(name)).map((category) => ({
    name: category,
    description: firstBodyLine(join(root, category, 'DESCRIPTION.md')),
    skills: directories(join(root, category))
      .filter((name) => existsSync(join(root, category, name, 'SKILL.md')))
      .map((name) => one(join(root, category, name), name)),
  })).filter((category) => category.skills.length > 0)
  if (flat.length > 0) categories.push({ ...misc, skills: flat.map((name) => one(join(root, name), name)) })
  return { categories: categories.sort((a, b) => (a.name < b.name ? -1 : 1)), archived: [] }
}

function directories(dir) {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .map((entry) => entry.name).sort()
}

function bundled(root) {
  const file = join(root, '.bundled_manifest')
  if (!existsSync(file)) return new Set()
  return new Set(readFileSync(file, 'utf8').split('\n').map((line) => line.split(':')[0]).filter(Boolean))
}

// firstBodyLine: behind the frontmatter, the first line that is no heading, at most 80 characters.
function firstBodyLine(file) {
  if (!existsSync(file)) return ''
  const body = readFileSync(file, 'utf8').replace(/^---\n[\s\S]*?\n---\n/, '')
  const line = body.split('\n').map((text) => text.trim()).find((text) => text && !text.startsWith('#'))
  return (line ?? '').slice(0, 80)
}
