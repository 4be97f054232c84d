// The page of an address. Each comes with its own part of the script when it is first looked at, so that what is seen
// first has little to wait for.

import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import type { Path } from './model/pages';
import { Panel } from './parts/panel';
import { page } from './route';

const LOADERS: Record<Path, () => Promise<ComponentType>> = {
  '/': async () => (await import('./overview')).Overview,
  '/tasks': async () => (await import('./tasks-page')).TasksPage,
  '/workers/*': async () => (await import('./things/worker-page')).WorkerPage,
  '/jobs': async () => (await import('./things/jobs-page')).JobsPage,
  '/jobs/*': async () => (await import('./things/job-page')).JobPage,
  '/jobs/*/graph': async () => (await import('./graph-page')).GraphPage,
  '/closures/*': async () => (await import('./things/closure-page')).ClosurePage,
  '/programs': async () => (await import('./things/programs-page')).ProgramsPage,
  '/programs/*': async () => (await import('./things/program-page')).ProgramPage,
  '/stream': async () => (await import('./stream-page')).StreamPage,
  '/values': async () => (await import('./things/values-page')).ValuesPage,
  '/per-worker': async () => (await import('./things/per-worker-page')).PerWorkerPage,
  '/objects': async () => (await import('./things/objects-page')).ObjectsPage,
  '/gangs': async () => (await import('./things/gangs-page')).GangsPage,
  '/sessions': async () => (await import('./things/sessions-page')).SessionsPage,
  '/barriers': async () => (await import('./barriers')).Barriers,
  '/stragglers': async () => (await import('./stragglers-page')).StragglersPage,
  '/kv': async () => (await import('./keys/kv')).KeyValues,
  '/events': async () => (await import('./events')).Events,
};

const loaded = new Map<Path, ComponentType>();
const asked = new Set<Path>();
const news = signal(0);
const failed = signal<Path | null>(null);

function load(path: Path): void {
  if (asked.has(path)) return;
  asked.add(path);
  LOADERS[path]().then(
    (component) => loaded.set(path, component),
    () => {
      asked.delete(path);
      failed.value = path;
    },
  ).finally(() => ++news.value);
}

load(page.peek().path); // before the first drawing: it is on its way meanwhile

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
          This part of the page could not be loaded: the server does not answer, or is of another version now.
        </p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load the page again
          </button>
        </p>
      </Panel>
    </div>
  );
}
