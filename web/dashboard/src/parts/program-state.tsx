import { lookOf, PROGRAM_LOOKS, RANK_LOOKS } from '../model/rest/programs';
import { Mark } from './shape';

function chip(looks: Parameters<typeof lookOf>[0], state: string) {
  const [shape, colour, word] = lookOf(looks, state);
  return (
    <span class={`chip ${colour}`} data-state={state}>
      <Mark shape={shape} /> {word}
    </span>
  );
}

export const ProgramChip = ({ state }: { state: string }) => chip(PROGRAM_LOOKS, state);
export const RankChip = ({ state }: { state: string }) => chip(RANK_LOOKS, state);
