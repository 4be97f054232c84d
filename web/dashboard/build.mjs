// Bundles src/ into index.html, the scripts, app.css and icon.svg, each with a .gz file, and writes manifest.json. The
// output is reproducible: no times, no random names.
//
//   node build.mjs            into $MUSTER_WEB_OUT or dist/
//   node build.mjs --tests    builds the unit tests into $MUSTER_TESTS_OUT or .test/, and runs them
//
// The page Now is in the first script, all other pages are in a second one (src/shell/pages.tsx); esbuild splits off
// their common parts. The names of scripts and styles contain a hash of the content, so that browsers can cache them forever.
// manifest.json has no hash and names every file, so servers need only this name.

import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = fileURLToPath(new URL('.', import.meta.url));
const out = process.env.MUSTER_WEB_OUT || join(here, 'dist');

// Size limits of the dashboard in gzipped bytes: `first` for files loaded before the overview is first drawn, and `all` for all
// files. Never raise them.
const budget = { first: 70_000, all: 200_000 };

if (process.argv.includes('--tests')) {
  const tests = readdirSync(join(here, 'test'), { recursive: true }).filter((name) => name.endsWith('.test.ts'));
  const outdir = process.env.MUSTER_TESTS_OUT || join(here, '.test');
  rmSync(outdir, { recursive: true, force: true });
  await build({
    entryPoints: tests.map((name) => join(here, 'test', name)),
    outdir,
    outbase: join(here, 'test'),
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(here, 'test', 'any.ts')).href) }, // tests read files next to them
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  const { status } = spawnSync(process.execPath, ['--test', ...tests.map((name) => join(outdir, name.replace(/\.ts$/, '.mjs')))], { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const bundle = await build({
  entryPoints: { app: join(here, 'src/shell/main.tsx'), style: join(here, 'src/shared/style/app.css') },
  outdir: out,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  absWorkingDir: here,
  write: false,
  bundle: true,
  splitting: true,
  metafile: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});

const TYPES = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' };
const outputs = new Map(Object.entries(bundle.metafile.outputs).map(([path, output]) => [basename(path), output]));
const named = (source) => [...outputs].find(([, output]) => output.entryPoint === source)[0];
const app = named('src/shell/main.tsx');
const css = named('src/shared/style/app.css');

// Deletes the files of the previous build. The names of old files have other hashes, so they would accumulate.
function forget() {
  const manifest = join(out, 'manifest.json');
  if (!existsSync(manifest)) return;
  for (const { file } of JSON.parse(readFileSync(manifest, 'utf8'))) for (const end of ['', '.gz']) rmSync(join(out, basename(file) + end), { force: true });
}

// Returns a script and all scripts that it imports.
function needs(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const { path, kind } of outputs.get(name).imports) if (kind === 'import-statement') needs(basename(path), found);
  return found;
}
const first = new Set(['index.html', 'icon.svg', css, ...needs(app)]);

// Lets the browser load all scripts at once, instead of each script after the script that imports it.
const ahead = [...first].filter((name) => name.endsWith('.js') && name !== app).map((name) => `<link rel="modulepreload" href="/${name}">\n`);
const html = readFileSync(join(here, 'src/shell/index.html'), 'utf8')
  .replace('</head>', `${ahead.join('')}</head>`)
  .replace('/app.js', `/${app}`)
  .replace('/app.css', `/${css}`);
const assets = [
  { path: '/', file: 'index.html', type: 'text/html; charset=utf-8', immutable: false, content: html },
  { path: '/icon.svg', file: 'icon.svg', type: 'image/svg+xml', immutable: false, content: readFileSync(join(here, 'src/shell/icon.svg'), 'utf8') },
  ...bundle.outputFiles
    .map((file) => ({ path: `/${basename(file.path)}`, file: basename(file.path), type: TYPES[extname(file.path)], immutable: true, content: file.text }))
    .sort((a, b) => (a.file < b.file ? -1 : 1)),
];

mkdirSync(out, { recursive: true });
forget();
const sum = { first: 0, all: 0 };
for (const { file, content } of assets) {
  const packed = gzipSync(content, { level: 9 });
  packed[9] = 255; // the header's "operating system" byte: the same on all systems
  writeFileSync(join(out, file), content);
  writeFileSync(join(out, `${file}.gz`), packed);
  console.log(`${file.padEnd(30)}${String(Buffer.byteLength(content)).padStart(8)} bytes${String(packed.length).padStart(8)} gz${first.has(file) ? '  first' : ''}`);
  sum.all += packed.length;
  if (first.has(file)) sum.first += packed.length;
}
writeFileSync(
  join(out, 'manifest.json'),
  `${JSON.stringify(
    assets.map(({ content, ...entry }) => entry),
    null,
    2,
  )}\n`,
);
for (const what of ['first', 'all']) {
  console.log(`${what.padEnd(38)}${String(sum[what]).padStart(14)} gz of ${budget[what]}`);
  if (sum[what] > budget[what]) throw new Error(`${what}: ${sum[what]} bytes gz are over the budget of ${budget[what]}`);
}
