// A page of one cluster that has nothing to show says which others have agents.

import { count } from '../model/format';
import { cluster, slow, store } from '../page';
import { choose } from '../route';

const SHOWN = 5;

export function Elsewhere() {
  slow.value;
  const now = cluster();
  const others = store.clusters.all().filter((c) => c.tasks > 0 && c.name !== now?.name);
  if (others.length === 0) return null;
  return (
    <span data-testid="elsewhere">
      {' '}
      Agents are in{' '}
      {others.slice(0, SHOWN).map((c) => (
        <button key={c.name} type="button" class="plain" onClick={() => choose({ cluster: c.name, page: '', at: '' })}>
          <bdi>{c.name}</bdi> ({count(c.tasks)}) →
        </button>
      ))}
    </span>
  );
}
