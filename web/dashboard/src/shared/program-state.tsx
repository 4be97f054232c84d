import { lookOf, PROGRAM_LOOKS, RANK_LOOKS } from './model/programs';
import { Chip } from './shape';

function chip(looks: Parameters<typeof lookOf>[0], state: string) {
  const [shape, colour, word] = lookOf(looks, state);
  return (
    <Chip shape={shape} colour={colour} data-state={state}>
      {word}
    </Chip>
  );
}

export const ProgramChip = ({ state }: { state: string }) => chip(PROGRAM_LOOKS, state);
export const RankChip = ({ state }: { state: string }) => chip(RANK_LOOKS, state);
