import { useEffect, useRef } from 'preact/hooks';
import { helpOpen, setShortcuts, shortcuts } from './page';

const KEYS = [
  ['/', 'find a task, host or incarnation'],
  ['p', 'pause and resume'],
  ['g then o t b k e', 'go to a page: overview, tasks, barriers, keys, events'],
  ['?', 'this help'],
  ['Esc', 'close, clear, let go'],
  ['↑ ↓ PgUp PgDn Home End', 'in a list: choose a row'],
  ['← → ↑ ↓ Enter', 'in the cluster map: go to a cell, show its task'],
];

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = helpOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (helpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <dl>
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <label>
        <input type="checkbox" checked={shortcuts.value} onChange={(event) => setShortcuts(event.currentTarget.checked)} /> Single-letter keys
      </label>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
