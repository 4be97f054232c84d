import { eventsOf } from '../explore/model/fold-events';
import { slow, store } from '../shared/page';
import { address, follow } from '../shared/route';
import { Panel } from '../shared/panel';
import { Table } from '../shared/table';
import { Clock } from '../shared/when';

const SHOWN = 12;

export function TaskEvents({ task, main, name }: { task: string; main: boolean; name: string }) {
  slow.value;
  const mine = eventsOf(store.events.all(), task, { name, main });
  const shown = mine.slice(0, SHOWN);
  return (
    <Panel
      id="its-events"
      title="Events of this task"
      note={mine.length > 0 && 'newest first'}
      span={12}
      aside={
        <a href={address('/explore/events', { q: task })} onClick={follow}>
          all events of this task
        </a>
      }
    >
      {mine.length === 0 ? (
        <p class="calm">No recent events for this task.</p>
      ) : (
        <Table kind="fits" testid="its-events">
          {shown.map((e) => (
            <tr key={e.number}>
              <td>
                <Clock ms={e.time_ms} />
              </td>
              <td class={e.severity === 'ERROR' ? 'text-error' : e.severity === 'WARNING' ? 'text-late' : 'soft'}>{e.kind.replaceAll('_', ' ')}</td>
              <td class="wrap">
                <bdi>{e.text}</bdi>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
