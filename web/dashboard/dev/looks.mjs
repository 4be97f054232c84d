// Layout checks that run within the page.

/** Returns texts that are cut off without a title, also when hovered. */
export const cutOff = () =>
  [...document.querySelectorAll('body *')]
    .filter((e) => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow === 'ellipsis' && e.checkVisibility() && e.textContent.trim() !== '')
    .filter((e) => e.dispatchEvent(new MouseEvent('mouseenter')) && !e.closest('[title]:not([title=""])') && !e.querySelector('[title]'))
    .map((e) => `${e.tagName}.${e.className}: ${e.textContent.slice(0, 60)}`);

/** Returns elements that stay in place while the page scrolls, and cover another such element. */
export const overlaid = () => {
  const stays = [...document.querySelectorAll('body *')].filter(
    (e) => /fixed|sticky/.test(getComputedStyle(e).position) && e.checkVisibility() && e.offsetWidth > 1 && e.offsetHeight > 1 && !e.closest('.stream'),
  );
  const over = ([a, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return stays.flatMap((a, n) =>
    stays
      .slice(n + 1)
      .filter((b) => !a.contains(b) && !b.contains(a) && over([a.getBoundingClientRect(), b.getBoundingClientRect()]))
      .map((b) => `${a.tagName}.${a.className} and ${b.tagName}.${b.className}`),
  );
};
