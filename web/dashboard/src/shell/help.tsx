import { useEffect, useRef } from 'preact/hooks';
import { PAGES } from '../shared/model/pages';
import { helpOpen, setShortcuts, shortcuts } from '../shared/page';

const KEYS = [
  ['Ctrl K', 'find anything: pages, jobs, workers, hosts, keys, actions'],
  ['/', 'find on this page'],
  ['p', 'pause and resume'],
  ['?', 'this help'],
  ['Esc', 'close, clear or deselect'],
  ['↑ ↓ PgUp PgDn Home End', 'in a list: select a row'],
  ['Enter', 'in a list: open the selected row'],
  ['← → ↑ ↓ Enter', 'in the cluster map: move between cells, show the task'],
  ['← → + − f', 'in the task stream: move in time, zoom in, zoom out, follow the current time'],
  ['↑ ↓ Shift ← → Enter', 'in the task stream: move between workers and bars, open'],
  ['← → ↑ ↓ + − 0', 'in a graph: follow dependencies, zoom in, zoom out, show all'],
] as const;
const GO = PAGES.flatMap((p) => ('key' in p ? [[`g ${p.key}`, p.title] as const] : []));

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="help-title" tabIndex={-1} autoFocus>
        Keys
      </h2>
      <p>
        <a href="/docs/" target="_blank" rel="noopener">
          Documentation
        </a>
      </p>
      <Keys list={KEYS} />
      <h3>Go to a page</h3>
      <Keys list={GO} />
      <label>
        <input type="checkbox" checked={shortcuts.value} onChange={(event) => setShortcuts(event.currentTarget.checked)} /> Single-letter keys
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

function Keys({ list }: { list: readonly (readonly [key: string, what: string])[] }) {
  return (
    <dl>
      {list.map(([key, what]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
