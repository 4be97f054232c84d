import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { announcement } from '../shell/connection';
import { link, stands } from './page';

interface Asked {
  title: string; // question, such as "Cancel this job?"
  children: ComponentChildren;
  yes: string; // label of the button, such as "Cancel the job"
  danger?: boolean;
  run(): Promise<unknown>;
  done?: string; // confirmation, such as "The job was cancelled."
}

interface Props extends Asked {
  label: string; // such as "Cancel job"
  disabled?: boolean;
  why?: string; // reason why the button is disabled
  testid: string;
  main?: boolean; // whether it is the page's main action
  atOnce?: boolean; // if true, no confirmation is required, because one click can undo the action
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function Action(props: Props) {
  const open = useSignal(false);
  const refusal = useSignal('');
  const { atOnce, run, done } = props;
  const away = link.value === 'lost';
  const press = () => {
    refusal.value = '';
    if (!atOnce) open.value = true;
    else
      run().then(
        () => (announcement.value = done ?? ''),
        (error: unknown) => {
          refusal.value = messageOf(error);
          open.value = true;
        },
      );
  };
  return (
    <>
      <button
        type="button"
        class={props.danger ? 'danger' : props.main ? 'primary' : ''}
        disabled={props.disabled || stands.value || away}
        title={stands.value ? 'This is the data of a stopped server: nothing can be changed.' : away ? 'The server does not answer.' : props.why}
        data-testid={props.testid}
        aria-haspopup={atOnce ? undefined : 'dialog'}
        onClick={press}
      >
        {props.label}
      </button>
      {open.value && <Question {...props} refusal={refusal.value} close={() => (open.value = false)} />}
    </>
  );
}

// The browser's dialog keeps the focus inside, closes with Esc and restores the focus. `refusal` is the reason why the
// first attempt failed.
export function Question({ title, children, yes, danger, run, done, refusal = '', close }: Asked & { refusal?: string; close(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const under = useSignal(false);
  const problem = useSignal(refusal);
  const id = useId();
  useEffect(() => dialog.current!.showModal(), []);
  const answer = async () => {
    under.value = true;
    problem.value = '';
    try {
      await run();
      if (done) announcement.value = done;
      dialog.current?.close();
    } catch (error) {
      problem.value = messageOf(error);
    }
    under.value = false;
  };
  return (
    <dialog ref={dialog} class="help question" aria-labelledby={id} data-testid="question" onClose={close}>
      <h2 id={id}>{title}</h2>
      <div class="question-text">{children}</div>
      {problem.value && (
        <p class="text-error" role="alert" data-testid="question-problem">
          <bdi>{problem.value}</bdi>
        </p>
      )}
      <div class="question-answers">
        <button type="button" autoFocus onClick={() => dialog.current?.close()}>
          Go back
        </button>
        <button type="button" class={danger ? 'danger' : 'primary'} disabled={under.value} data-testid="question-yes" onClick={answer}>
          {under.value ? 'Asking the server…' : yes}
        </button>
      </div>
    </dialog>
  );
}
