// Bundles src/ into index.html, app.js, app.css and icon.svg, each with a .gz beside it, and writes manifest.json.
// The same sources give the same bytes: no times, no random names.
//
//   node build.mjs            into $MUSTER_WEB_OUT or dist/
//   node build.mjs --tests    the unit tests into .test/
//
// On disk the names are fixed, so that a build system can name them. The URLs of app.js and app.css carry a hash of the
// content (/app-3f2a….js), so that browsers may keep them for ever; manifest.json says which file answers which path.

import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = process.env.MUSTER_WEB_OUT || join(here, 'dist');
const budget = { total: 72 * 1024, 'app.js': 64 * 1024 };

if (process.argv.includes('--tests')) {
  const tests = readdirSync(join(here, 'test')).filter((name) => name.endsWith('.test.ts'));
  rmSync(join(here, '.test'), { recursive: true, force: true });
  await build({
    entryPoints: tests.map((name) => join(here, 'test', name)),
    outdir: join(here, '.test'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  process.exit(0);
}

const bundle = await build({
  entryPoints: { app: join(here, 'src/main.tsx'), style: join(here, 'src/app.css') },
  outdir: out,
  write: false,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});

const text = (name) => bundle.outputFiles.find((file) => file.path.endsWith(name)).text;
const hash = (content) => createHash('sha256').update(content).digest('hex').slice(0, 16);

const js = text('app.js');
const css = text('style.css');
const paths = { 'app.js': `/app-${hash(js)}.js`, 'app.css': `/app-${hash(css)}.css` };
const html = readFileSync(join(here, 'src/index.html'), 'utf8')
  .replace('/app.js', paths['app.js'])
  .replace('/app.css', paths['app.css']);

const assets = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8', immutable: false, content: html },
  { path: paths['app.js'], file: 'app.js', type: 'text/javascript; charset=utf-8', immutable: true, content: js },
  { path: paths['app.css'], file: 'app.css', type: 'text/css; charset=utf-8', immutable: true, content: css },
  { path: '/icon.svg', file: 'icon.svg', type: 'image/svg+xml', immutable: false, content: readFileSync(join(here, 'src/icon.svg'), 'utf8') },
];

mkdirSync(out, { recursive: true });
let total = 0;
for (const { file, content } of assets) {
  const packed = gzipSync(content, { level: 9 });
  packed[9] = 255; // the header's "operating system" byte: the same everywhere
  writeFileSync(join(out, file), content);
  writeFileSync(join(out, `${file}.gz`), packed);
  console.log(`${file.padEnd(12)}${String(Buffer.byteLength(content)).padStart(8)} bytes${String(packed.length).padStart(8)} gz`);
  total += packed.length;
  if (packed.length > (budget[file] ?? Infinity)) throw new Error(`${file} is over its budget of ${budget[file]} bytes gz`);
}
writeFileSync(join(out, 'manifest.json'), JSON.stringify(assets.map(({ content, ...entry }) => entry), null, 2) + '\n');
console.log(`${'total'.padEnd(20)}${String(total).padStart(14)} gz`);
if (total > budget.total) throw new Error(`${total} bytes gz are over the budget of ${budget.total}`);
