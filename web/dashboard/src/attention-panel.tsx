// What needs a person, by the server's rules; an item goes when its cause is over.

import { bare } from './model/ansi';
import { joinAddress, typed, worstFirst } from './model/attention-list';
import { age, moment } from './model/format';
import { frozen, slow, store, viewNow } from './page';
import { Copy } from './parts/copy';
import { Panel } from './parts/panel';
import { Mark } from './parts/shape';
import { follow } from './route';

export const join = (): string => joinAddress(store.clusters.all(), location.hostname);

export function Attention() {
  slow.value;
  const items = worstFirst(store.attention.all());
  const known = store.seq('attention') !== null;
  return (
    <Panel id="attention" title="Needs attention" span={4} aside={items.length > 1 && <span class="note">worst first</span>}>
      <ul class="attention" data-testid="attention" data-count={items.length}>
        {items.map((item) => (
          <li key={`${item.rule} ${item.title}`} data-testid="attention-item" data-kind={item.rule} data-severity={item.severity}>
            <Mark shape={item.severity === 'error' ? 'error' : 'late'} />
            <div>
              <div class="attention-title">
                {item.link ? (
                  <a href={item.link} onClick={follow}>
                    <bdi>{item.title}</bdi>
                  </a>
                ) : (
                  <b>
                    <bdi>{item.title}</bdi>
                  </b>
                )}
                {item.since_ms > 0 && <time title={moment(item.since_ms)}>{age(viewNow() - item.since_ms)}</time>}
              </div>
              {item.detail && (
                <p title={bare(item.detail)}>
                  <bdi>{bare(item.detail)}</bdi>
                </p>
              )}
              {item.command && (
                <div class="attention-command">
                  <code class="clip" title={typed(item.command, location.hostname)}>
                    <bdi>{typed(item.command, location.hostname)}</bdi>
                  </code>
                  <Copy text={typed(item.command, location.hostname)} what="the command" />
                </div>
              )}
            </div>
          </li>
        ))}
      </ul>
      {store.attention.more > 0 && <p class="foot">and {store.attention.more} more</p>}
      {items.length === 0 && known && <p class="calm">Nothing needs you.{frozen.value ? ' (as of the last update)' : ''}</p>}
    </Panel>
  );
}
