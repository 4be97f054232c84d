import { serverUrl } from '../shared/base';
import { joinAddress } from '../shared/model/alert-list';
import { stands, store } from '../shared/page';

const join = (): string => joinAddress(store.clusters.all(), location.hostname);

// Explains how to fill an empty cluster.
export function NoTask() {
  if (stands.value) return <p class="calm span-12">Workers of a stopped server are not shown; their past work is in the task stream.</p>;
  return (
    <div class="join span-12" data-testid="empty">
      <p>
        <b>No task has joined yet.</b> Start a worker on any machine that can reach this one, then submit a call and a program:
      </p>
      <code>
        muster worker --server {join()} --allow-programs
        <br />
        muster submit muster.echo hello --url {serverUrl()}
        <br />
        muster launch --ranks 2 --url {serverUrl()} -- python train.py
      </code>
      <p class="note">The worker will appear here within a second. JAX and TensorFlow tasks join by using the same address as their coordinator.</p>
    </div>
  );
}
