import type { Look } from './model/look';
import { address, follow } from './route';
import { Panel } from './panel';

// Shows the server's reason for missing or outdated data.
export function Gone({ id, what, looked, to = '/work', others = 'All jobs' }: { id: string; what: string; looked: Look<unknown>; to?: string; others?: string }) {
  if (!looked.problem) return looked.value === null ? <p class="calm">Loading…</p> : null;
  return (
    <Panel id={id} title={looked.gone ? `No such ${what}` : 'The server did not answer'} span={12}>
      <div data-testid={id} role="status">
        <p class="calm text-error">
          <bdi>{looked.problem}</bdi>
        </p>
        {looked.gone && (
          <p class="calm">
            <a href={address(to)} onClick={follow}>
              {others}
            </a>
          </p>
        )}
      </div>
    </Panel>
  );
}
