import { page } from './route';

export function Soon() {
  return <p class="calm">{page.value.title} is not drawn yet.</p>;
}
