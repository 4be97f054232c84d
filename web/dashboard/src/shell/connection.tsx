// Shows the age of the data, because a frozen page must not look live.

import { signal } from '@preact/signals';
import { session } from '../shared/session';
import { age, moment } from '../shared/model/format';
import { dataAge, link, paused, rebooted, retryNow, setPaused, slow, store, viewNow } from '../shared/page';

type State = 'connecting' | 'live' | 'paused' | 'reconnecting';

export function connectionState(): State {
  if (link.value === 'connecting') return 'connecting';
  if (link.value === 'lost') return 'reconnecting';
  return paused.value ? 'paused' : 'live';
}

const WORDS: Record<State, string> = {
  connecting: 'Connecting…',
  live: 'Live',
  paused: 'Paused',
  reconnecting: 'Reconnecting…',
};

export function ConnectionLine() {
  slow.value;
  const state = connectionState();
  return (
    <p class={`conn conn-${state}`} data-testid="conn-state" data-state={state}>
      <i class="dot" />
      <b>{WORDS[state]}</b>
      {(state === 'paused' || state === 'reconnecting') && <span class="note">data {age(dataAge())} old</span>}
    </p>
  );
}

export function Banners() {
  slow.value;
  const state = connectionState();
  return (
    <>
      {state === 'reconnecting' && (
        <div class="banner banner-late" data-testid="banner-lost">
          <p>
            <b>The connection to the server was lost.</b> The data shown is {age(dataAge())} old. Reconnecting…
          </p>
          <button type="button" onClick={retryNow}>
            Try now
          </button>
        </div>
      )}
      {session.value?.read_only && (
        <div class="banner" data-testid="banner-read-only">
          <p>
            <b>This is the data of a stopped server.</b> It is shown as it was last stored
            {store.counters && <>, {moment(viewNow())}</>}; nothing can be changed.
          </p>
        </div>
      )}
      {state === 'paused' && (
        <div class="banner" data-testid="banner-paused">
          <p>
            <b>Paused.</b> The data shown is {age(dataAge())} old; the cluster continues to run.
          </p>
          <button type="button" onClick={() => setPaused(false)}>
            Resume
          </button>
        </div>
      )}
      {rebooted.value && (
        <div class="banner" data-testid="banner-reboot">
          <p>
            <b>The server was restarted.</b> Its incarnation is now <code>{store.hello?.boot.slice(0, 8)}</code>; counters restarted at 0.
          </p>
          <button type="button" onClick={() => (rebooted.value = false)}>
            Dismiss
          </button>
        </div>
      )}
    </>
  );
}

export const announcement = signal('');

// A live region whose text announce.ts sets.
export function Announcer() {
  return (
    <p class="unseen" role="status">
      {announcement.value}
    </p>
  );
}
