// Writes .api/rest.d.ts, the types of REST answers, from a server's /openapi.json.
//
//   node dev/api.mjs           queries $MUSTER, a binary or the address of a running server; default: the release
//   build's binary

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const muster = process.env.MUSTER || join(root, '../../build/release/bin/muster');

const asked = async (url) => (await fetch(`${url}/openapi.json`)).json();

// Starts a server, reads its API description and stops it.
async function askedOf(binary) {
  const folder = mkdtempSync(join(tmpdir(), 'muster-api-'));
  const ready = join(folder, 'ready.json');
  const server = spawn(binary, ['serve', '--grpc', '127.0.0.1:0', '--http', '127.0.0.1:0', '--ready-file', ready], { stdio: 'ignore' });
  const watching = new AbortController();
  try {
    return await new Promise((found, failed) => {
      server.on('error', failed);
      server.on('exit', (code) => failed(new Error(`${binary} serve ended with ${code}`)));
      watch(folder, { signal: watching.signal }, () => existsSync(ready) && asked(`http://${JSON.parse(readFileSync(ready, 'utf8')).http}`).then(found, failed));
    });
  } finally {
    watching.abort();
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

function typeOf({ $ref, const: only, enum: words, anyOf, type, items = {}, properties, required = [], additionalProperties = {} }) {
  if ($ref) return $ref.split('/').at(-1);
  if (words ?? only) return (words ?? [only]).map((word) => JSON.stringify(word)).join(' | ');
  if (anyOf) return anyOf.map(typeOf).join(' | ');
  if (type === 'array') return `(${typeOf(items)})[]`;
  const member = ([name, schema]) => `${schema.description ? `/** ${schema.description} */ ` : ''}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`;
  if (properties) return `{\n${Object.entries(properties).map(member).join('\n')}\n}`;
  if (type === 'object') return `Record<string, ${typeOf(additionalProperties)}>`;
  const simple = [type ?? 'unknown'].flat().map((each) => (each === 'integer' ? 'number' : each));
  return simple.join(' | ');
}

const { components } = await (/^https?:/.test(muster) ? asked(muster) : askedOf(muster));
const types = Object.entries(components.schemas).map(([name, schema]) => `export type ${name} = ${typeOf(schema)};\n`);
mkdirSync(join(root, '.api'), { recursive: true });
writeFileSync(join(root, '.api/rest.d.ts'), `declare module 'muster-rest' {\n${types.join('')}}\n`);
