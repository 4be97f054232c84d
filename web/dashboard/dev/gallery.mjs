// Serves the page with all shared components (gallery.tsx).
//
//   node dev/gallery.mjs [PORT]

import { build } from 'esbuild';
import { createServer } from 'node:http';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

export async function startGallery(port = 0) {
  const { outputFiles } = await build({
    entryPoints: { app: `${here}gallery.tsx`, style: `${here}../src/shared/style/app.css` },
    outdir: '/',
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'warning',
  });
  const html =
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Components</title><meta name="viewport" content="width=device-width, initial-scale=1">' +
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,"><link rel="stylesheet" href="/style.css"><script type="module" src="/app.js"></script><div id="app"></div></html>';
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://here');
    const file = outputFiles.find(({ path }) => path === pathname);
    const type = { '/app.js': 'text/javascript', '/style.css': 'text/css' }[pathname] ?? 'text/html';
    response.writeHead(200, { 'Content-Type': `${type}; charset=utf-8` }).end(file ? file.text : html);
  });
  await new Promise((done) => server.listen(port, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => new Promise((done) => server.close(done)) };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { url } = await startGallery(Number(process.argv[2] ?? 8478));
  console.log(url);
}
