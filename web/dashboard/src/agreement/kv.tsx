import { useSignal } from '@preact/signals';
import { bytes, count } from '../shared/model/format';
import { folderPath, readFolder, readValue, valuePath, waitsPath, type Folder, type KeyValue, type Waits } from './kv-client';
import { asHex, asText, crumbs, looks, type Look } from './model/kv-value';
import { KeyWaits } from './kv-waits';
import { useLooked } from '../shared/looked';
import { cluster, query, slow } from '../shared/page';
import { Ago } from '../shared/when';
import { JsonTree } from '../shared/json-tree';
import { Elsewhere } from '../shared/elsewhere';
import { Problem } from '../shared/listing';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';
import { address, choose, chosen, follow, prefix } from '../shared/route';

const LARGE = 64 * 1024; // bytes; larger values are polled less often

export function KeyValues() {
  slow.value;
  const of = cluster()?.name ?? '';
  const at = prefix.value;
  const first = useLooked<Folder>(of && folderPath(of, at), { read: readFolder });
  const waits = useLooked<Waits>(of && waitsPath(of));
  // Only the first page is updated.
  const later = useSignal<{ of: string; pages: Folder[]; problem: string }>({ of: '', pages: [], problem: '' });
  const here = `${of} ${at}`;
  const pages = later.value.of === here ? later.value.pages : [];
  const folder = first.value && joined([first.value, ...pages]);
  const name = chosen('key').value || null;

  const more = async () => {
    try {
      later.value = { of: here, pages: [...pages, await readFolder(folderPath(of, at, folder!.next))], problem: '' };
    } catch (error) {
      later.value = { of: here, pages, problem: String((error as Error).message) };
    }
  };
  const problem = first.problem || later.value.problem;

  return (
    <div class="panels">
      <Panel id="keys" title="Keys" note={<Crumbs />} span={4} aside={folder && <span class="note">{count(cluster()?.keys ?? 0)} in all</span>}>
        <Problem text={problem} />
        {folder ? <Entries folder={folder} chosen={name} choose={(key) => choose({ key })} more={more} /> : !problem && <p class="calm">Loading…</p>}
      </Panel>
      <Value of={of} name={name} />
      <KeyWaits waits={waits.value} />
    </div>
  );
}

const joined = (pages: readonly Folder[]): Folder => ({ folders: pages.flatMap((p) => p.folders), keys: pages.flatMap((p) => p.keys), next: pages.at(-1)!.next });

function Crumbs() {
  return (
    <span class="crumbs mono">
      <a href={address('/agreement/keys')} onClick={follow}>
        /
      </a>
      {crumbs(prefix.value).map(([name, to]) => (
        <a key={to} href={address('/agreement/keys', { prefix: to })} onClick={follow}>
          <bdi>{name}</bdi>/
        </a>
      ))}
    </span>
  );
}

function Entries({ folder, chosen: now, choose: open, more }: { folder: Folder; chosen: string | null; choose(key: string): void; more(): void }) {
  const wanted = query.value.trim().toLowerCase();
  const name = (key: string) => key.slice(prefix.value.length);
  const fits = (key: string) => !wanted || name(key).toLowerCase().includes(wanted);
  const folders = folder.folders.filter(fits);
  const keys = folder.keys.filter((k) => fits(k.key));
  if (folders.length + keys.length === 0)
    return (
      <p class="calm">
        {wanted ? `No key here has a name that contains “${query.value}”.` : 'No keys here. Keys are created by agents, such as JAX and TensorFlow, and by '}
        {!wanted && <code class="wrap">muster kv put KEY VALUE</code>}
        {!wanted && <Elsewhere what="Keys" />}
      </p>
    );
  return (
    <ul class="entries" data-testid="keys">
      {folders.map((f) => (
        <li key={f}>
          <a class="entry" href={address('/agreement/keys', { prefix: f })} onClick={follow} data-testid="folder" data-prefix={f}>
            <span class="mono clip" title={f}>
              <bdi>{name(f)}</bdi>
            </span>
            <span class="soft">›</span>
          </a>
        </li>
      ))}
      {keys.map((k) => (
        <li key={k.key}>
          <button type="button" class="entry" aria-pressed={k.key === now} onClick={() => open(k.key)} data-testid="key" data-key={k.key}>
            <span class="mono clip" title={k.key}>
              <bdi>{name(k.key) || k.key}</bdi>
            </span>
            <span class="soft">
              {bytes(k.size)} · <Ago ms={k.changed_ms} />
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
  const large = useSignal(false);
  const looked = useLooked<KeyValue | 'gone'>(of && name !== null ? valuePath(of, name) : '', { every: large.value ? 10_000 : 2000, read: readValue });
  const v = looked.value === 'gone' ? null : looked.value;
  large.value = v !== null && v.size > LARGE;
  const there = v ? looks(v.text) : [];
  const look = chosen('as').value as Look;
  const shown = there.includes(look) ? look : there[0];
  const aside = v && <Segments label="Show as" options={there.map((l) => [l, LOOKS[l]])} now={shown ?? null} testid="look" choose={(l) => choose({ as: l === there[0] ? '' : l })} />;
  return (
    <Panel id="value" title="Value" note={v && bytes(v.size)} span={8} aside={aside}>
      {name === null && <p class="calm">Choose a key to see its value.</p>}
      {name !== null && (
        <b class="mono wrap">
          <bdi>{name}</bdi>
        </b>
      )}
      <Problem text={looked.problem} />
      {looked.value === 'gone' && (
        <p class="calm" data-testid="value-gone">
          The key does not exist.
        </p>
      )}
      {v && v.size === 0 && <p class="calm">The value is empty.</p>}
      {v && v.size > 0 && shown === 'json' && <JsonTree value={JSON.parse(v.text!)} testid="value" label="Value" />}
      {v && v.size > 0 && shown !== 'json' && (
        <pre class="value" tabIndex={0} data-testid="value">
          {shown === 'hex' ? asHex(v.bytes) : asText(v.text!)}
        </pre>
      )}
    </Panel>
  );
}
