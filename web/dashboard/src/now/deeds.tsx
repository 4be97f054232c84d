import type { Signal } from '@preact/signals';
import type { Deed } from '../shared/model/alert-list';
import { useLooked } from '../shared/looked';
import { plain } from '../shared/model/plain';
import { Action } from '../shared/action';
import { Linked } from '../shared/linked';
import { api, send } from '../shared/rest';
import { closureAddress, follow } from '../shared/route';
import { Retry, RetryAll } from './retry';

export function DeedButton({ deed, title, why }: { deed: Deed; title: string; why: Signal<boolean> }) {
  const of = (what: string) => api(`${what}/${encodeURIComponent(deed.id)}`);
  if (deed.does === 'retry') return <Retry id={deed.id} stay />;
  if (deed.does === 'retry-all') return <RetryAll ids={deed.id.split(' ')} />;
  if (deed.does === 'cancel')
    return (
      <Action testid="deed-cancel" label="Cancel" title="Cancel this closure?" yes="Cancel the closure" danger run={() => send('POST', `${of('closures')}/cancel`)} done="The closure was cancelled.">
        <p>It has repeatedly lost its worker. Closures that need its value will fail.</p>
      </Action>
    );
  if (deed.does === 'restart')
    return (
      <Action testid="deed-restart" label="Restart" title="Restart this program?" yes="Restart" run={() => send('POST', `${of('programs')}/restart`)} done="The program is restarting.">
        <p>All ranks will be stopped and restarted as a new attempt.</p>
      </Action>
    );
  return (
    <button type="button" data-testid="deed-explain" aria-expanded={why.value} aria-label={`Explain: ${title}`} onClick={() => (why.value = !why.value)}>
      Explain
    </button>
  );
}

export function Why({ deed }: { deed: Deed }) {
  const path = `closures/${encodeURIComponent(deed.id)}`;
  const looked = useLooked<{ explanation: string }>(api(`${path}/explain`, { job: deed.job }));
  return (
    <div class="explained" data-testid="explained" role="status">
      {looked.value ? <Linked text={plain(looked.value.explanation)} job={deed.job} /> : looked.problem || 'Asking the server…'}{' '}
      <a href={closureAddress(deed.id, deed.job)} onClick={follow}>
        The closure
      </a>
    </div>
  );
}
