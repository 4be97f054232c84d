// Shows the page of the address, and the dialogs. Other pages than Now and the dialogs are a second script, loaded when
// the user first opens one of them, so that the first page loads quickly.

import { signal } from '@preact/signals';
import { Overview } from '../now/overview';
import type { Path } from '../shared/model/pages';
import { Panel } from '../shared/panel';
import { paletteOpen, serverOpen } from '../shared/page';
import { page } from '../shared/route';
import { announcement } from './connection';

type Others = typeof import('./other-pages');

const others = signal<Others | null>(null);
const failed = signal<Path | null>(null); // the page that could not be loaded
let loading: Promise<boolean> | null = null;

// Returns whether the second script could be loaded. A call after a failure tries again.
function load(): Promise<boolean> {
  loading ??= import('./other-pages').then(
    (loaded) => {
      others.value = loaded;
      return true;
    },
    () => {
      loading = null;
      return false;
    },
  );
  return loading;
}

if (page.peek().path !== '/now') void load(); // loading starts before the first rendering

export function Content() {
  const { path, title } = page.value;
  const Shown = path === '/now' ? Overview : others.value?.PAGES[path];
  if (Shown) return <Shown />;
  if (failed.value !== path) {
    void load().then((ok) => ok || (failed.value = path));
    return <p class="calm">Loading…</p>;
  }
  return (
    <div class="panels">
      <Panel id="not-loaded" title={title} span={12}>
        <p class="calm text-error" role="alert">
          This part of the page could not be loaded: the server does not answer, or its version has changed.
        </p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Reload the page
          </button>
        </p>
      </Panel>
    </div>
  );
}

export function Dialogs() {
  if (!paletteOpen.value && !serverOpen.value) return null;
  if (!others.value) {
    void load().then((ok) => {
      if (ok) return;
      paletteOpen.value = serverOpen.value = false;
      announcement.value = 'The dialog could not be loaded: the server does not answer.';
    });
    return null;
  }
  const { Palette, ServerDialog } = others.value;
  return (
    <>
      {paletteOpen.value && <Palette />}
      {serverOpen.value && <ServerDialog />}
    </>
  );
}
