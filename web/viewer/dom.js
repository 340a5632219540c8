// dom.js - elements in one call.

/** h('a', { href, onclick }, 'text', child): properties, or attributes where there is no such property. */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function s(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined && value !== '')
      made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function fill(made, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined)
      continue;
    if (name in made)
      made[name] = value;
    else
      made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ''));
  return made;
}

/** Saves a Blob as a file of that name. */
export function save(blob, name) {
  const link = h('a', { download: name, href: URL.createObjectURL(blob) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
