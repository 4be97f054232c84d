// On an empty page, lists the clusters that have content.

import { Fragment } from 'preact';
import { count, plural } from './model/format';
import type { ClusterRow } from './model/protocol';
import { cluster, poolOf, slow, store } from './page';
import { choose } from './route';

const SHOWN = 5;

const THINGS = {
  Agents: (c: ClusterRow) => c.tasks,
  Barriers: (c: ClusterRow) => c.barriers,
  Keys: (c: ClusterRow) => c.keys,
  Jobs: (c: ClusterRow) => store.jobs().filter((job) => (job.cluster ?? '') === poolOf(c)).length,
} as const;

export function Elsewhere({ what = 'Agents' }: { what?: keyof typeof THINGS }) {
  slow.value;
  const now = cluster();
  const others = store.clusters.all().flatMap((c) => {
    const n = c.name === now?.name ? 0 : THINGS[what](c);
    return n > 0 ? [[c.name, n] as const] : [];
  });
  if (others.length === 0) return null;
  return (
    <span data-testid="elsewhere">
      {' '}
      {what} are in{' '}
      {others.slice(0, SHOWN).map(([name, n], at) => (
        <Fragment key={name}>
          {at > 0 && ', '}
          <button type="button" class="plain" onClick={() => choose({ cluster: name, page: '', at: '' })}>
            <bdi>{name}</bdi> ({count(n)}) →
          </button>
        </Fragment>
      ))}
      {others.length > SHOWN && ` and ${plural(others.length - SHOWN, 'more cluster')}`}
    </span>
  );
}
