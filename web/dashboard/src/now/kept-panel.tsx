import { age, bytes, count, moment } from '../shared/model/format';
import { slow, store, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { Chip } from '../shared/shape';

export function Kept() {
  slow.value;
  const d = store.counters?.durable;
  if (!d) return null;
  const etcd = d.store === 'etcd';
  const shape = d.failed_since_ms || d.full ? 'error' : d.changes_waiting > 0 ? 'late' : 'connected';
  return (
    <Panel id="kept" title="Durable data" note="jobs, sessions that hold values, clusters, their tasks, keys and barriers" span={12}>
      <div class="progress" data-testid="kept">
        <div class="progress-head">
          <bdi class="mono clip" title={d.data_dir}>
            {d.data_dir}
          </bdi>
          <span data-testid="kept-bytes">
            {bytes(d.disk_bytes + (d.blob_bytes ?? 0) + (d.history_bytes ?? 0))}
            {d.free_bytes !== undefined && `, ${bytes(d.free_bytes)} free`}
          </span>
        </div>
        <div class="progress-foot">
          <Chip shape={shape}>
            {d.failed_since_ms
              ? 'writing has failed; nothing more is stored'
              : d.full
                ? 'the disk is full: new durable work is refused'
                : d.changes_waiting > 0
                  ? `${count(d.changes_waiting)} changes waiting for ${etcd ? 'etcd' : 'the disk'}`
                  : etcd
                    ? 'all changes in etcd'
                    : 'all changes on disk'}
          </Chip>
          <span>
            server start {count(d.epoch)}, data read in {age(d.restored_in_ms)}
            {d.leader && (
              <>
                , leads as <bdi>{d.leader}</bdi>
              </>
            )}
          </span>
        </div>
        <div class="progress-foot" data-testid="kept-parts">
          <span>State {bytes(d.disk_bytes)}</span>
          <span>Blobs {bytes(d.blob_bytes ?? 0)}</span>
        </div>
        {d.history_bytes !== undefined && (
          <div class="progress-foot" data-testid="kept-history">
            <span>
              History {bytes(d.history_bytes)}, {d.history_since_ms ? `since ${moment(d.history_since_ms)}` : 'since the server started'}: events, charts, stream, machines
              {!!d.history_dropped && (
                <span class="text-late">
                  , {count(d.history_dropped)} records are missing
                  {!!d.history_unreadable && ` (${count(d.history_unreadable)} cannot be read)`}
                </span>
              )}
            </span>
          </div>
        )}
        {d.full && !d.failed_since_ms && (
          <p class="progress-error text-error">
            {age(viewNow() - (d.full_since_ms ?? viewNow()))} ago: <bdi>{d.full}</bdi>
          </p>
        )}
        {d.failed_since_ms && (
          <p class="progress-error text-error">
            {age(viewNow() - d.failed_since_ms)} ago: <bdi>{d.failure}</bdi>
          </p>
        )}
      </div>
    </Panel>
  );
}
