import type { ComponentChildren } from 'preact';
import { shortId } from './model/format';
import { slow, store } from './page';
import { closureAddress, follow, jobAddress, workerAddress } from './route';

interface Props {
  to: string;
  title?: string | undefined;
  cell?: boolean; // whether the link is in a grid, where Enter opens the row and Tab skips the link
  children: ComponentChildren;
}

export const Link = ({ to, title, cell, children }: Props) => (
  <a class="mono" href={to} onClick={follow} title={title} tabIndex={cell ? -1 : undefined}>
    {children}
  </a>
);

export function JobLink({ id, cell }: { id: string; cell?: boolean }) {
  slow.value; // the name can arrive later
  return (
    <Link to={jobAddress(id)} title={id} cell={cell}>
      <bdi>{store.jobName(id) || shortId(id)}</bdi>
    </Link>
  );
}

// The server finds a finished closure through its job.
export const ClosureLink = ({ id, job }: { id: string; job: string }) => (
  <Link to={closureAddress(id, job)} title={id}>
    {shortId(id)}
  </Link>
);

export const WorkerLink = ({ task, of, cell }: { task: string; of?: string; cell?: boolean }) => (
  <Link to={workerAddress(task, of)} cell={cell}>
    <bdi>{task}</bdi>
  </Link>
);
