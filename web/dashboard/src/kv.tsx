// Keys like folders, a value in the form that suits it, and who waits for keys that are not there.

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { age, bytes, count, moment } from './model/format';
import { readFolder, readValue, readWaits, type Folder, type KeyValue, type Waits } from './kv-client';
import { asHex, asJson, asText, crumbs, looks, type Look } from './model/kv-value';
import { KeyWaits } from './kv-waits';
import { cluster, frozen, query, slow, viewNow } from './page';
import { Panel } from './parts/panel';
import { address, follow, prefix } from './route';

const AGAIN_MS = 2000;

export function KeyValues() {
  slow.value;
  const of = cluster()?.name ?? '';
  const folder = useSignal<Folder | null>(null);
  const waits = useSignal<Waits | null>(null);
  const failed = useSignal('');
  const chosen = useSignal<string | null>(null);
  const held = frozen.value;

  // The first page and the waits are looked at again every two seconds; pages that were asked for by hand stay.
  useEffect(() => {
    if (!of) return;
    let left = false;
    folder.value = null;
    const look = async () => {
      if (document.hidden || (folder.peek()?.keys.length ?? 0) > 200) return;
      try {
        const [f, w] = await Promise.all([readFolder(of, prefix.peek()), readWaits(of)]);
        if (left) return;
        folder.value = f;
        waits.value = w;
        failed.value = '';
      } catch (error) {
        if (!left) failed.value = String((error as Error).message);
      }
    };
    void look();
    const timer = held ? undefined : setInterval(look, AGAIN_MS);
    return () => {
      left = true;
      clearInterval(timer);
    };
  }, [of, prefix.value, held]);

  const more = async () => {
    const f = folder.value!;
    const next = await readFolder(of, prefix.value, f.next);
    folder.value = { folders: [...f.folders, ...next.folders], keys: [...f.keys, ...next.keys], next: next.next };
  };

  return (
    <div class="panels">
      <Panel id="keys" title="Keys" note={<Crumbs />} span={4} aside={folder.value && <span class="note">{count(cluster()?.keys ?? 0)} in all</span>}>
        {failed.value && <p class="calm text-error">{failed.value}</p>}
        {folder.value ? <Entries folder={folder.value} chosen={chosen.value} choose={(key) => (chosen.value = key)} more={more} /> : <p class="calm">Loading…</p>}
      </Panel>
      <Value of={of} name={chosen.value} />
      <KeyWaits waits={waits.value} />
    </div>
  );
}

function Crumbs() {
  return (
    <span class="crumbs mono">
      <a href={address('/kv')} onClick={follow}>
        /
      </a>
      {crumbs(prefix.value).map(([name, to]) => (
        <a key={to} href={address('/kv', { prefix: to })} onClick={follow}>
          <bdi>{name}</bdi>/
        </a>
      ))}
    </span>
  );
}

function Entries({ folder, chosen, choose, more }: { folder: Folder; chosen: string | null; choose(key: string): void; more(): void }) {
  const wanted = query.value.trim().toLowerCase();
  const name = (key: string) => key.slice(prefix.value.length);
  const fits = (key: string) => !wanted || name(key).toLowerCase().includes(wanted);
  const folders = folder.folders.filter(fits);
  const keys = folder.keys.filter((k) => fits(k.key));
  if (folders.length + keys.length === 0) return <p class="calm">{wanted ? `No key here has “${query.value}” in its name.` : 'No key here.'}</p>;
  return (
    <ul class="entries" data-testid="keys">
      {folders.map((f) => (
        <li key={f}>
          <a class="entry" href={address('/kv', { prefix: f })} onClick={follow} data-testid="folder" data-prefix={f}>
            <span class="mono clip" title={f}>
              <bdi>{name(f)}</bdi>
            </span>
            <span class="soft">›</span>
          </a>
        </li>
      ))}
      {keys.map((k) => (
        <li key={k.key}>
          <button type="button" class="entry" aria-pressed={k.key === chosen} onClick={() => choose(k.key)} data-testid="key" data-key={k.key}>
            <span class="mono clip" title={k.key}>
              <bdi>{name(k.key) || k.key}</bdi>
            </span>
            <span class="soft">
              {bytes(k.size)} · <time title={moment(k.changed_ms)}>{age(viewNow() - k.changed_ms)}</time>
            </span>
          </button>
        </li>
      ))}
      {folder.next && (
        <li>
          <button type="button" onClick={more}>
            More
          </button>
        </li>
      )}
    </ul>
  );
}

const LOOKS: Record<Look, string> = { json: 'JSON', text: 'Text', hex: 'Hex' };

function Value({ of, name }: { of: string; name: string | null }) {
  const value = useSignal<KeyValue | null>(null);
  const failed = useSignal('');
  const look = useSignal<Look | null>(null);
  useEffect(() => {
    let left = false;
    value.value = null;
    failed.value = '';
    if (name === null) return;
    const load = async () => {
      try {
        const v = await readValue(of, name);
        if (!left) value.value = v;
      } catch (error) {
        if (!left) failed.value = String((error as Error).message);
      }
    };
    void load();
    return () => {
      left = true;
    };
  }, [of, name]);
  const v = value.value;
  const there = v ? looks(v.text) : [];
  const shown = look.value && there.includes(look.value) ? look.value : there[0];
  const aside = v && (
    <div class="segments" role="group" aria-label="Show as">
      {there.map((l) => (
        <button key={l} type="button" aria-pressed={l === shown} data-testid={`look-${l}`} onClick={() => (look.value = l)}>
          {LOOKS[l]}
        </button>
      ))}
    </div>
  );
  return (
    <Panel id="value" title="Value" note={v && bytes(v.size)} span={8} aside={aside}>
      {name === null && <p class="calm">Choose a key to see its value.</p>}
      {name !== null && (
        <b class="mono wrap">
          <bdi>{name}</bdi>
        </b>
      )}
      {failed.value && <p class="calm text-error">{failed.value}</p>}
      {v && v.size === 0 && <p class="calm">The value is empty.</p>}
      {v && v.size > 0 && (
        <pre class="value" tabIndex={0} data-testid="value">
          {shown === 'hex' ? asHex(v.bytes) : shown === 'json' ? asJson(v.text!) : asText(v.text!)}
        </pre>
      )}
    </Panel>
  );
}
