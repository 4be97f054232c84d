// Scripts for lists, detail pages and charts are loaded when they are first needed, so that the first page loads quickly.

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Path } from '../shared/model/pages';
import { Panel } from '../shared/panel';
import { page } from '../shared/route';

const LOADERS: Record<Path, () => Promise<ComponentType>> = {
  '/now': async () => (await import('../now/overview')).Overview,
  '/fleet': async () => (await import('./lists')).TasksPage,
  '/fleet/*': async () => (await import('./things')).WorkerPage,
  '/work': async () => (await import('./lists')).JobsPage,
  '/runs/*': async () => (await import('./things')).JobPage,
  '/runs/*/graph': async () => (await import('../run/graph-page')).GraphPage,
  '/closures/*': async () => (await import('./things')).ClosurePage,
  '/programs': async () => (await import('./lists')).ProgramsPage,
  '/runs/prog_*': async () => (await import('./things')).ProgramPage,
  '/explore': async () => (await import('./lists')).LogsPage,
  '/explore/stream': async () => (await import('../explore/stream-page')).StreamPage,
  '/explore/values': async () => (await import('./lists')).ValuesPage,
  '/explore/per-worker': async () => (await import('./lists')).PerWorkerPage,
  '/explore/objects': async () => (await import('./lists')).ObjectsPage,
  '/queue': async () => (await import('./lists')).GangsPage,
  '/sessions': async () => (await import('./lists')).SessionsPage,
  '/agreement': async () => (await import('./lists')).Barriers,
  '/agreement/stragglers': async () => (await import('./lists')).StragglersPage,
  '/agreement/keys': async () => (await import('./lists')).KeyValues,
  '/explore/events': async () => (await import('./lists')).Events,
};

const loaded = new Map<Path, ComponentType>();
const asked = new Set<Path>();
const news = signal(0);
const failed = signal<Path | null>(null);

function load(path: Path): void {
  if (asked.has(path)) return;
  asked.add(path);
  LOADERS[path]()
    .then(
      (component) => loaded.set(path, component),
      () => {
        asked.delete(path);
        failed.value = path;
      },
    )
    .finally(() => ++news.value);
}

load(page.peek().path); // loading starts before the first rendering

export function Content() {
  news.value;
  const { path, title } = page.value;
  const Shown = loaded.get(path);
  if (Shown) return <Shown />;
  if (failed.value !== path) {
    load(path);
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
