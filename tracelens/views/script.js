"use strict";
{
  const options = {
    ast: true, actions: false, renderer: "svg", defaultStyle: false, tooltip: {disableDefaultStyle: true}
  };
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = JSON.parse(document.getElementById(place.dataset.chart).textContent);
    window.vegaEmbed(place, spec, options).catch((error) => {
      console.error(error);
      place.textContent = "This chart could not be drawn: " + error.message;
    });
  }
}
