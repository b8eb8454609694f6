// Entry of the stand-in. The real 0.5.16 needs the SQLite module of newer Nodes and dies at once without it.
const [major, minor] = process.versions.node.split('.').map(Number)
if ((major < 22 || (major === 22 && minor < 5)) && !process.env.HERMES_WEB_UI_STANDIN_ANY_NODE) {
  console.error(`hermes-web-ui (stand-in): Node ${process.versions.node} is too old, 23 or later is needed`)
  process.exit(1)
}
const { main } = await import('./main.js')
await main()
