import { clock, momentAt } from '../shared/model/format';
import { viewNow } from '../shared/page';
import { currentView, show } from './stream-state';

const AROUND = 30_000; // ms on each side

export function AtTime() {
  return (
    <label>
      <span class="soft">at</span>
      <input
        type="time"
        step="1"
        data-testid="stream-at"
        defaultValue={clock(currentView().from)}
        onChange={({ currentTarget }) => {
          const at = momentAt(currentTarget.value, viewNow());
          if (at !== null) show({ from: at - AROUND, to: at + AROUND });
        }}
      />
    </label>
  );
}
