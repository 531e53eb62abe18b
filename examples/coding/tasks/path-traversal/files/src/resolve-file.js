import path from 'node:path';

/** Returns the path of the file that a URL such as `/css/site.css?v=2` names below `root`. */
export function resolveFile(root, url) {
  const [pathname] = url.split('?');
  return path.join(root, decodeURIComponent(pathname));
}
