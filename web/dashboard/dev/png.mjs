// Writes small PNG files: a palette of at most 256 colours, with 16 levels a channel.

import { deflateSync } from 'node:zlib';

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});
const crc = (bytes) => ~bytes.reduce((c, byte) => TABLE[(c ^ byte) & 255] ^ (c >>> 8), -1) >>> 0;

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

// Returns the picture with at most 256 colours: the most frequent ones. Other colours become the nearest of them.
export async function smaller(page, picture) {
  const { width, height, data } = await page.evaluate(async (text) => {
    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], { type: 'image/png' }));
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
    pen.drawImage(image, 0, 0);
    const rgba = pen.getImageData(0, 0, image.width, image.height).data;
    let colours = '';
    for (let at = 0; at < rgba.length; at += 4) colours += String.fromCharCode(((rgba[at] >> 4) << 8) | (rgba[at + 1] & 0xf0) | (rgba[at + 2] >> 4));
    return { width: image.width, height: image.height, data: colours };
  }, picture.toString('base64'));
  const counts = new Map();
  for (const one of data) counts.set(one, (counts.get(one) ?? 0) + 1);
  const frequent = [...counts].sort((x, y) => y[1] - x[1]).map(([one]) => one.charCodeAt(0));
  const palette = frequent.slice(0, 256);
  const apart = (x, y) => Math.abs((x >> 8) - (y >> 8)) + Math.abs(((x >> 4) & 15) - ((y >> 4) & 15)) + Math.abs((x & 15) - (y & 15));
  const at = new Map(frequent.map((one, n) => [one, n < 256 ? n : palette.reduce((best, other, k) => (apart(one, other) < apart(one, palette[best]) ? k : best), 0)]));
  const rows = Buffer.alloc((width + 1) * height); // each row begins with its filter, which is 0
  for (let n = 0; n < data.length; ++n) rows[Math.floor(n / width) * (width + 1) + 1 + (n % width)] = at.get(data.charCodeAt(n));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3], 8); // 8 bits a pixel, with a palette
  const colours = Buffer.from(palette.flatMap((c) => [(c >> 8) * 17, ((c >> 4) & 15) * 17, (c & 15) * 17]));
  const parts = [chunk('IHDR', head), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts]);
}
