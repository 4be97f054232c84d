// The brand of the navigation rail, with a dot for the state of the server. It opens the dialog "Server".

import { signal } from '@preact/signals';
import type { ServerHealth } from 'muster-rest';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import { link, serverOpen } from '../shared/page';
import { api } from '../shared/rest';
import { SUMMARY, worst } from './model/server-health';

const EVERY_MS = 10_000;

export const serverHealth = signal<ServerHealth | null>(null);

export function useServerHealth(every: number) {
  const looked = useLooked<ServerHealth>(api('server/health'), { every, keep: true });
  const { value } = looked;
  useEffect(() => {
    if (value) serverHealth.value = value;
  }, [value]);
  return looked;
}

export function ServerDot({ children }: { children: ComponentChildren }) {
  const { problem } = useServerHealth(EVERY_MS);
  const health = problem || link.value === 'lost' ? null : serverHealth.value;
  const level = health ? worst(health) : 'unknown';
  const words = level === 'unknown' ? 'state unknown' : SUMMARY[level];
  return (
    <button type="button" class="plain brand-server" data-testid="server-health" data-level={level} aria-haspopup="dialog" title={`Server: ${words}`} onClick={() => (serverOpen.value = true)}>
      <span class="brand-icon">
        <img src="/icon.svg" alt="" width="26" height="26" />
        <i class="dot server-dot" />
      </span>
      <span class="brand-text">{children}</span>
      <span class="unseen">, server: {words}</span>
    </button>
  );
}
