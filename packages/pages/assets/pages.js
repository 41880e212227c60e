// Adds to pages that work without it: forms are sent once, buttons copy a value, and times are in the reader's own time
// zone. The labels are attributes of the script element, in the language of the page.
{
  // A second press while the next page loads sends nothing, until the reader gives up or comes back to this page.
  const sent = new Map()
  document.addEventListener("submit", (event) => {
    if (Date.now() < sent.get(event.target)) event.preventDefault()
    else sent.set(event.target, Date.now() + 10_000)
  })
  addEventListener("pageshow", () => sent.clear())

  const { copied, copy, locale } = document.currentScript.dataset

  const addButton = (element, status) => {
    const button = document.createElement("button")
    button.type = "button"
    button.className = "copy"
    button.textContent = copy
    button.setAttribute("aria-label", `${copy} ${element.dataset.copy}`)
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(element.value ?? element.textContent)
      button.textContent = copied
      status.textContent = `${copied} ${element.dataset.copy}`
      setTimeout(() => {
        button.textContent = copy
        status.textContent = ""
      }, 3000)
    })
    element.after(button)
  }

  // Browsers offer the clipboard to secure pages only.
  const values = navigator.clipboard === undefined ? [] : document.querySelectorAll("[data-copy]:not(script)")
  if (values.length > 0) {
    const status = document.createElement("p")
    status.className = "unseen"
    status.setAttribute("role", "status")
    document.querySelector("main").append(status)
    for (const value of values) addButton(value, status)
  }

  const units = [["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]]
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" })
  const formats = {
    date: new Intl.DateTimeFormat(locale, { dateStyle: "long" }),
    time: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" })
  }

  const distance = (seconds) => {
    const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? ["second", 1]
    // "valid until tomorrow (in 24 hours)", also some seconds later
    return relative.format(Math[seconds > 0 ? "ceil" : "trunc"](seconds / size), unit)
  }

  const midnight = (at) => new Date(at).setHours(0, 0, 0, 0)

  const distances = {
    date: (at) => relative.format(Math.round((midnight(at) - midnight(Date.now())) / 86_400_000), "day"),
    time: (at) => distance((at - Date.now()) / 1000)
  }

  const times = document.querySelectorAll("time[data-show]")
  for (const time of times) time.title = time.textContent
  const update = () => {
    for (const time of times) {
      const at = Date.parse(time.dateTime)
      const { show } = time.dataset
      time.textContent = `${formats[show].format(at)} (${distances[show](at)})`
    }
  }
  update()
  if (times.length > 0) setInterval(update, 60_000)
}
