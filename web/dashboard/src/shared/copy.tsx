import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

const SAID_MS = 2000;

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers offer the clipboard API only over TLS and on localhost.
    const box = document.createElement('textarea');
    box.value = text;
    box.readOnly = true;
    box.className = 'unseen';
    const before = document.activeElement as HTMLElement | null;
    (document.querySelector('dialog[open]') ?? document.body).append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    before?.focus();
    return done;
  }
}

export function Copy({ text, what = '', label = 'Copy' }: { text: string | (() => string); what?: string; label?: string }) {
  const said = useSignal<'' | 'Copied' | 'Not copied'>('');
  useEffect(() => {
    if (!said.value) return;
    const timer = setTimeout(() => (said.value = ''), SAID_MS);
    return () => clearTimeout(timer);
  }, [said.value]);
  return (
    <button
      type="button"
      class="copy"
      data-testid="copy"
      title={what && `Copy ${what}`}
      aria-label={what && !said.value ? `${label} ${what}` : undefined}
      onClick={async () => {
        said.value = (await copy(typeof text === 'string' ? text : text())) ? 'Copied' : 'Not copied';
      }}
    >
      <span aria-live="polite">{said.value || label}</span>
    </button>
  );
}

export function Commands({ lines }: { lines: readonly (readonly [what: string, line: string])[] }) {
  return (
    <details
      class="menu"
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !event.currentTarget.open) return;
        event.currentTarget.open = false;
        event.currentTarget.querySelector('summary')?.focus();
      }}
      onFocusOut={({ currentTarget, relatedTarget }) => {
        if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) currentTarget.open = false;
      }}
    >
      <summary data-testid="commands">Commands</summary>
      <ul class="commands">
        {lines.map(([what, line]) => (
          <li key={line}>
            <span class="soft">{what}</span>
            <code class="wrap">
              <bdi>{line}</bdi>
            </code>
            <Copy text={line} what={`the command: ${what}`} />
          </li>
        ))}
      </ul>
    </details>
  );
}
